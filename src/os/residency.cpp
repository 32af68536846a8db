#include "os/residency.h"

#include <errno.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/optional.h"
#include "os/memory.h"

namespace snug::os {
namespace {

// Bits of a page's word in the file.
constexpr uint64_t kInMemory = uint64_t{1} << 63;
constexpr uint64_t kInSwap = uint64_t{1} << 62;
constexpr uint64_t kOwn = uint64_t{1} << 56;
constexpr size_t kPagesAtOnce = 256;

// True for an error that may go away: too many files are open now, or the machine has no memory.
bool may_pass(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

}  // namespace

size_t PageMap::read_words(uintptr_t start, uint64_t* words, size_t most) {
  file_.seek(start / page_size() * sizeof *words);
  return file_.read(words, most * sizeof *words) / sizeof *words;
}

bool PageMap::read(uintptr_t start, size_t count, bool has_forked, uint64_t (&in_memory)[kMostAtOnce / 64],
                   uint64_t* swapped) {
  uint64_t words[kPagesAtOnce];
  const uint64_t counts = has_forked ? kInMemory : kInMemory | kOwn;
  fill_all(in_memory, 0);
  for (size_t done = 0; done != count;) {
    const size_t got = read_words(start + done * page_size(), words, min(count - done, kPagesAtOnce));
    if (got == 0) return false;
    for (size_t i = 0; i < got; ++i) {
      const size_t page = done + i;
      if ((words[i] & counts) == counts) in_memory[page / 64] |= uint64_t{1} << page % 64;
      if ((words[i] & kInSwap) != 0) ++*swapped;
    }
    done += got;
  }
  return true;
}

Optional<size_t> held_pages(const void* start, size_t bytes) {
  // Where a policy forbids the file, each attempt may be a line in the administrator's log: the first refusal is the
  // last.
  static Atomic<bool> was_refused{false};
  if (was_refused.load(kRelaxed)) return kNothing;
  PageMap map;
  size_t held = 0;
  for (size_t left = bytes / page_size(); left != 0;) {
    uint64_t words[kPagesAtOnce];
    const uintptr_t next = address_of(start) + bytes / page_size() * page_size() - left * page_size();
    const size_t got = map.read_words(next, words, min(left, kPagesAtOnce));
    if (got == 0) {
      if (!may_pass(map.error())) was_refused.store(true, kRelaxed);
      return kNothing;
    }
    held += static_cast<size_t>(
        count_if(words, words + got, [](uint64_t word) { return (word & (kInMemory | kInSwap)) != 0; }));
    left -= got;
  }
  return held;
}

}  // namespace snug::os
