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
  const auto bounded = [=](size_t key, size_t bytes, size_t times = 1) {
    return is_set(key) ? bytes : min(bytes * times, memory / kPartKept);
  };
  const auto by_age = [=](size_t key, size_t bytes) { return is_set(key) ? bytes : memory / kPartKept; };
  return {{bounded(kRetain, config.retain), by_age(kRetain, config.retain)},
          bounded(kRetain, config.retain, kTimesInUse),
          {bounded(kRetainLarge, config.retain_large), by_age(kRetainLarge, config.retain_large)},
          config.cache,
          is_set(kCache) ? SIZE_MAX : memory / kPartInCaches};
}

}  // namespace snug
