#include "os/residency.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/bits.h"
#include "os/input_file.h"
#include "os/memory.h"

namespace snug::os {
namespace {

// Of a page's word in the file.
constexpr uint64_t kInMemory = uint64_t{1} << 63;
constexpr uint64_t kInSwap = uint64_t{1} << 62;
constexpr size_t kPagesAtOnce = 256;

// A process that has too many files open now, or a machine without memory, has not forbidden anything.
bool may_pass(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

}  // namespace

std::optional<size_t> held_pages(const void* start, size_t bytes) {
  // Where a policy forbids the file, each try may be a line in somebody's log.
  static std::atomic<bool> was_refused{false};
  if (was_refused.load(std::memory_order_relaxed)) return std::nullopt;
  // Not mincore(), for which filters of system calls end the process that live well with files (docs/decisions/0025).
  // And not of `self`, which is nobody once the main thread has left.
  InputFile map("/proc/thread-self/pagemap");
  map.seek(address_of(start) / page_size() * sizeof(uint64_t));
  size_t held = 0;
  for (size_t left = bytes / page_size(); left != 0;) {
    uint64_t words[kPagesAtOnce];
    const size_t got = map.read(words, std::min(left, kPagesAtOnce) * sizeof *words) / sizeof *words;
    if (got == 0) {
      if (!may_pass(map.error())) was_refused.store(true, std::memory_order_relaxed);
      return std::nullopt;
    }
    held += static_cast<size_t>(
        std::count_if(words, words + got, [](uint64_t word) { return (word & (kInMemory | kInSwap)) != 0; }));
    left -= got;
  }
  return held;
}

}  // namespace snug::os
