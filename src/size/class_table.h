// ClassTable: a size-class map in the form that malloc and free use, chosen when the process starts. The table in which
// the fast paths look sizes up (thread/head_table.h) is made from it, so that a map known only at run time costs them
// nothing.
//
//   slab       pages_per_slab pages, cut into blocks_per_slab blocks from its start; the rest is not used
//   slot       (address - start of slab) / block_size, by multiplication with `reciprocal`
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/units.h"
#include "size/class_list.h"

namespace snug {

inline constexpr size_t kMaxBlocksPerSlab = 1024;  // so that a slab's bitmap is two lines
// The most blocks in a line group (SizeClass::line_group).
inline constexpr size_t kMostLineGroup = kCacheLine / kSmallStep;
// How much a thread takes of a small class from shared slabs before it gets slabs of its own: about so many bytes, or
// so many blocks if that is less. For a thread that does little, an OS page for each class would be most of its memory.
inline constexpr size_t kSharedBytes = 8192;
inline constexpr size_t kSharedBlocks = 64;

// A class's index times two: scaled so, the fast paths reach a 16-byte cache head with the CPU's index scale of 8.
using ScaledClass = uint8_t;
inline constexpr size_t kClassScale = 2;
constexpr ScaledClass scaled(size_t size_class) { return static_cast<ScaledClass>(size_class * kClassScale); }
static_assert(kMaxClasses * kClassScale <= 256);

struct SizeClass {
  uint32_t block_size = 0;  // bytes
  uint32_t reciprocal = 0;  // ceil(2^32 / block_size)
  uint16_t blocks_per_slab = 0;
  uint16_t pages_per_slab = 0;
  uint16_t cached_max = 0;  // most blocks in a thread's array
  uint16_t carve_max = 0;   // most never-used blocks taken at once
  uint16_t line_group = 0;  // fewest blocks that fill whole cache lines: 1, 2 or 4
  uint16_t shared_max = 0;  // how many of its first blocks a thread takes from slabs that all threads share

  // The largest power of two that divides the size: every block is aligned to it, if the slab is (in pages, at least
  // 1).
  constexpr uint32_t slab_alignment() const {
    const uint32_t pages = (block_size & (0u - block_size)) >> kPageShift;
    return pages == 0 ? 1 : pages;
  }
  constexpr size_t slot_of(size_t offset) const { return (offset * uint64_t{reciprocal}) >> 32; }
  // How many words hold a bit for each block of a slab.
  constexpr size_t bitmap_words() const { return words_of_bits(blocks_per_slab); }
};

struct ClassTable {
  SizeClass classes[kMaxClasses] = {};
  uint8_t small[kSmallSizeMax / kSmallStep + 1] = {};  // classes by steps, rounded up
  uint8_t medium[kMediumSizeMax / kMediumStep + 1] = {};
  uint8_t largest[kLargestSizeMax / kLargestStep + 1] = {};
  uint32_t count = 0;   // classes 1 … count - 1 are in use
  size_t max_size = 0;  // bytes, at least kMediumSizeMax; larger requests are large blocks

  // The class of any `size` from 0 to max_size.
  constexpr size_t class_of(size_t size) const {
    if (size <= kSmallSizeMax) return small[(size + kSmallStep - 1) / kSmallStep];
    if (size <= kMediumSizeMax) return medium[(size + kMediumStep - 1) / kMediumStep];
    return largest[(size + kLargestStep - 1) / kLargestStep];
  }
  // The least class of any `size` of which all blocks are aligned; 0 if there is none. `alignment` is a power of two.
  constexpr size_t aligned_class_of(size_t alignment, size_t size) const {
    if (alignment > max_size || size > max_size) return 0;
    const size_t padded = round_up(size == 0 ? 1 : size, alignment);
    for (size_t c = padded <= max_size ? class_of(padded) : count; c < count; ++c)
      if (is_aligned(classes[c].block_size, alignment)) return c;
    return 0;
  }
};

// The fewest blocks of a slab; the fewest for blocks beyond kLargeBeyond; beyond kOneBeyond one is enough.
inline constexpr size_t kLeastBlocks = 8;
inline constexpr size_t kLeastLargeBlocks = 4;
inline constexpr size_t kLargeBeyond = size_t{16} << 10;
inline constexpr size_t kOneBeyond = size_t{32} << 10;

// The smallest number of pages that wastes least at its end, for slabs of 64 KiB or a few blocks, whichever is more.
// Above 32 KiB few means one to four: the rest of a slab of one block is a span that any class can use, and cutting it
// costs little beside touching such a block. Where the last block ends inside a page, a huge page backs the rest too.
constexpr uint32_t pages_for_slab(size_t block_size) {
  const auto pages_for = [block_size](size_t blocks) { return round_up(blocks * block_size, kPageSize) / kPageSize; };
  const size_t most = kMaxBlocksPerSlab * block_size;
  if (most <= 4 * kPageSize) return static_cast<uint32_t>(most / kPageSize);
  const bool one_will_do = block_size > kOneBeyond;
  const size_t fewest = one_will_do ? 1 : block_size > kLargeBeyond ? kLeastLargeBlocks : kLeastBlocks;
  const size_t least = max<size_t>(pages_for(fewest), one_will_do ? 1 : 4);
  const size_t last = one_will_do ? pages_for(kLeastLargeBlocks) : least + least / 2;
  size_t best = least;
  for (size_t pages = least; pages <= last && pages <= kPagesPerChunk; ++pages) {
    const size_t waste = pages * kPageSize % block_size;
    if (waste * best < best * kPageSize % block_size * pages) best = pages;
  }
  return static_cast<uint32_t>(best);
}

constexpr SizeClass make_size_class(size_t size, size_t cached) {
  SizeClass one;
  one.block_size = static_cast<uint32_t>(size);
  one.reciprocal = static_cast<uint32_t>(((uint64_t{1} << 32) + size - 1) / size);
  one.pages_per_slab = static_cast<uint16_t>(pages_for_slab(size));
  const size_t blocks = one.pages_per_slab * kPageSize / size;
  one.blocks_per_slab = static_cast<uint16_t>(blocks < kMaxBlocksPerSlab ? blocks : kMaxBlocksPerSlab);
  one.cached_max = static_cast<uint16_t>(cached);
  one.carve_max = static_cast<uint16_t>(size < 4096 ? 4096 / size : 1);
  const size_t part_of_line = size % kCacheLine & (0 - size % kCacheLine);
  one.line_group = static_cast<uint16_t>(part_of_line == 0 ? 1 : kCacheLine / part_of_line);
  const size_t shared = kSharedBytes / size < kSharedBlocks ? kSharedBytes / size : kSharedBlocks;
  one.shared_max = static_cast<uint16_t>(size <= kSmallSizeMax ? shared : 0);
  return one;
}

// Makes the table of a list without a fault: at compile time for built-in maps, at start-up for one out of a file.
constexpr ClassTable make_class_table(const ClassList& list) {
  ClassTable table;
  table.count = list.count;
  table.max_size = list.largest();
  for (size_t c = 1; c < list.count; ++c) table.classes[c] = make_size_class(list.rows[c].size, list.rows[c].cached);
  const auto fill = [&table](uint8_t* steps, size_t step, size_t last) {
    uint8_t c = 1;  // also for 0 bytes: malloc(0) yields a block of its own
    for (size_t i = 0; i * step <= last; ++i) {
      while (table.classes[c].block_size < i * step) ++c;
      steps[i] = c;
    }
  };
  fill(table.small, kSmallStep, kSmallSizeMax);
  fill(table.medium, kMediumStep, kMediumSizeMax);
  fill(table.largest, kLargestStep, table.max_size);
  return table;
}

static_assert(fault_of_map(DefaultSizeClassMap::kParameters) == nullptr, "fault_of_map() says why not");
static_assert(fault_of_map(DenseSizeClassMap::kParameters) == nullptr, "fault_of_map() says why not");
inline constexpr ClassTable kRoomyTable = make_class_table(default_class_list());
inline constexpr ClassTable kDenseTable = make_class_table(class_list_of(DenseSizeClassMap::kParameters));

}  // namespace snug
