// BlockMap: which block sizes a compacting heap has, and how many pages the blocks of one class lie in together.
//
//   class_of(bytes)   the smallest class c with classes[c].block >= bytes, for bytes <= largest()
//
// Many classes cost such a heap little, as it keeps only a few pages of each class that are not full.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/fixed_array.h"
#include "base/units.h"

namespace snug {

struct BlockClass {
  uint32_t block = 0;    // bytes
  uint16_t blocks = 0;   // in its pages
  uint16_t pages = 0;    // in a row
  uint32_t inverse = 0;  // of its bytes, times 2^32 and rounded up: to divide by them
  constexpr size_t bytes() const { return PageCount{pages}.bytes(); }
  constexpr size_t tail() const { return bytes() - size_t{blocks} * block; }
  // The index of the block that begins `offset` bytes from the start of the pages; exact for multiples of a block.
  constexpr uint32_t index_at(size_t offset) const { return static_cast<uint32_t>(offset * inverse >> 32); }

  friend constexpr bool operator==(const BlockClass&, const BlockClass&) = default;

  constexpr BlockClass() = default;
  constexpr BlockClass(size_t block_bytes, size_t page_count)
      : block(static_cast<uint32_t>(block_bytes)),
        pages(static_cast<uint16_t>(page_count)),
        inverse(static_cast<uint32_t>(((uint64_t{1} << 32) + block_bytes - 1) / block_bytes)) {
    blocks = static_cast<uint16_t>(bytes() / block_bytes);
  }
};

// The most pages in a row for blocks of one class.
inline constexpr size_t kMostPages = 8;

// The fewest pages that waste no more than 1/32 at their end; else, up to kMostPages, those that waste least.
constexpr size_t pages_for_blocks_of(size_t block) {
  const auto tail = [block](size_t count) {
    return count * kPageSize % block + (count * kPageSize < block ? count * kPageSize : 0);
  };
  size_t best = 1;
  for (size_t pages = 1; pages <= kMostPages; ++pages) {
    if (tail(pages) * best < tail(best) * pages) best = pages;
    if (tail(best) * 32 <= best * kPageSize) break;
  }
  return best;
}

class BlockMap {
 public:
  static constexpr size_t kMostClasses = 128;
  static constexpr size_t kMostBlocks = 1024;  // in the pages of one class
  static constexpr size_t kLargest = 32768;

  constexpr size_t count() const { return count_; }
  constexpr const BlockClass& operator[](size_t index) const { return classes_[index]; }
  constexpr size_t largest() const { return largest_; }
  // All blocks lie at multiples of it.
  constexpr size_t granule() const { return size_t{1} << granule_shift_; }
  constexpr size_t class_of(size_t bytes) const { return index_[(bytes + granule() - 1) >> granule_shift_]; }

  // A map is made by adding its classes, in ascending order of sizes.
  constexpr explicit BlockMap(unsigned granule_shift) : granule_shift_(granule_shift) {}
  constexpr void add(size_t block, size_t pages) {
    classes_[count_] = BlockClass(block, pages);
    for (size_t i = count_ == 0 ? 0 : classes_[count_ - 1].block / granule() + 1; i <= block / granule(); ++i)
      index_[i] = static_cast<uint8_t>(count_);
    largest_ = block;
    ++count_;
  }

 private:
  unsigned granule_shift_;
  size_t count_ = 0;
  size_t largest_ = 0;
  FixedArray<BlockClass, kMostClasses> classes_{};
  FixedArray<uint8_t, kLargest / 16 + 1> index_{};
};

// Multiples of 16 up to 256, then sixteen classes a doubling: rounding is at most 1/16 of a block, 1/32 on average.
constexpr BlockMap make_fine_map() {
  BlockMap map(4);
  for (size_t block = 16, step = 16; block <= BlockMap::kLargest; block += step) {
    if (block >= 16 * step * 2) step *= 2;
    map.add(block, pages_for_blocks_of(block));
  }
  return map;
}

// Compact-fit's map: each size is 1.125 times the one before, rounded up to eight bytes; the last is what a page holds
// beside the original's header of 184 bytes. 51 classes from 16 bytes.
constexpr BlockMap make_cf_map(size_t least) {
  constexpr size_t kLast = kPageSize - 184;
  BlockMap map(3);
  for (size_t block = least; block < kLast; block = (block * 9 + 63) / 64 * 8) map.add(block, 1);
  map.add(kLast, 1);
  return map;
}

inline constexpr BlockMap kFineMap = make_fine_map();
inline constexpr BlockMap kCf16Map = make_cf_map(16);
inline constexpr BlockMap kCf32Map = make_cf_map(32);
static_assert(kCf16Map.count() == 51, "as published");

}  // namespace snug
