#include "os/residency.h"

#include <stdint.h>

#include "base/algorithm.h"
#include "os/memory.h"

namespace snug::os {
namespace {

// Bits of a page's word in the file.
constexpr uint64_t kInMemory = uint64_t{1} << 63;
constexpr uint64_t kInSwap = uint64_t{1} << 62;
constexpr uint64_t kOwn = uint64_t{1} << 56;
constexpr size_t kPagesAtOnce = 256;

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

}  // namespace snug::os
