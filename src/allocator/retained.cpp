// What of the configuration bounds the memory that is kept.
#include "allocator/config.h"
#include "allocator/config_keys.h"
#include "base/algorithm.h"

namespace snug {
namespace {

// The part of its memory, one in so many, that a process keeps at most in pages, and as much in large blocks, by age
// too; and the part that all threads' caches together have room for.
constexpr size_t kPartKept = 16;
constexpr size_t kPartInCaches = 128;
// By default up to so many times `retain` may be kept empty, in pages, as long as no less is in use.
constexpr size_t kTimesInUse = 4;

}  // namespace

Retained retained_within(size_t memory, const Config& config, uint32_t set_keys) {
  const auto is_set = [set_keys](size_t key) { return has_key(set_keys, key); };
  // What is set, or by default `most`, within the part.
  const auto bounded = [=](size_t key, size_t set, size_t most) {
    return is_set(key) ? set : min(most, memory / kPartKept);
  };
  const size_t pages = config.retain, large = config.retain_large;
  return {{bounded(kRetain, pages, pages), bounded(kRetain, pages, SIZE_MAX)},
          bounded(kRetain, pages, pages * kTimesInUse),
          {bounded(kRetainLarge, large, large), bounded(kRetainLarge, large, SIZE_MAX)},
          config.cache,
          is_set(kCache) ? SIZE_MAX : memory / kPartInCaches};
}

}  // namespace snug
