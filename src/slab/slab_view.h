// SlabView: a copy of what one slab holds, by which a thread counts its bytes after it has dropped the heap's lock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "slab/slab.h"

namespace snug {

class SlabView {
 public:
  SlabView() = default;
  // The caller holds the heap's lock.
  explicit SlabView(const Slab& slab)
      : start_(address_of(slab.start)),
        bytes_(slab.span->pages.bytes()),
        block_size_(slab.block_size),
        carved_(slab.carved),
        used_(slab.used()),
        size_class_(slab.size_class) {
    copy_n(slab.free_bits(), words_of_bits(carved_), free_);
  }

  uintptr_t start() const { return start_; }
  uintptr_t end() const { return start_ + bytes_; }
  size_t size_class() const { return size_class_; }
  // Bytes of the blocks that are handed out: live, in thread caches, or remote frees.
  size_t used_bytes() const { return used_ * block_size_; }

  // How many bytes of used blocks lie in [from, to), offsets from the start.
  size_t used_between(size_t from, size_t to) const {
    to = min(to, carved_ * block_size_);
    if (used_ == 0 || from >= to) return 0;
    const size_t first = from / block_size_;
    const size_t last = (to - 1) / block_size_;
    const size_t blocks = last - first + 1 - free_among(first, last - first + 1);
    // A part of the first and of the last block may lie outside.
    const size_t before = is_free(first) ? 0 : from - first * block_size_;
    const size_t behind = is_free(last) ? 0 : (last + 1) * block_size_ - to;
    return blocks * block_size_ - before - behind;
  }

 private:
  bool is_free(size_t slot) const { return tests_bit(free_, slot); }
  size_t free_among(size_t slot, size_t count) const {
    size_t free = 0;
    for_each_word(slot, count, [&](size_t word, uint64_t mask) { free += count_ones(free_[word] & mask); });
    return free;
  }

  uintptr_t start_ = 0;
  size_t bytes_ = 0;
  size_t block_size_ = 1;
  size_t carved_ = 0;
  size_t used_ = 0;
  size_t size_class_ = 0;
  uint64_t free_[kMaxBlocksPerSlab / 64] = {};
};

}  // namespace snug
