#include "slab/put_back.h"

#include "base/bits.h"
#include "base/fatal.h"

namespace snug {

// The bitmap word that the blocks share stays in a register; in memory each update would wait for the store before it.
size_t put_back_cluster(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count) {
  const uintptr_t start = address_of(slab.start);
  const size_t end = size_t{slab.carved} * sizes.block_size;
  size_t slot = slot_of_block(slab, sizes, *blocks);
  size_t word = slot / 64;
  size_t lowest = word;
  uint64_t bits = slab.free_bits()[word];
  size_t done = 0;
  for (;;) {
    const uint64_t bit = uint64_t{1} << (slot % 64);
    if ((bits & bit) != 0) [[unlikely]] {
      slab.free_bits()[word] = bits;
      die_of_double_free(slab, slot);
    }
    bits |= bit;
    if (++done == count) break;
    const size_t offset = address_of(blocks[done]) - start;
    if (offset >= end || begins_row(blocks + done, count - done, sizes.block_size)) break;
    slot = slot_of_block(slab, sizes, blocks[done]);
    if (slot / 64 == word) continue;
    slab.free_bits()[word] = bits;
    word = slot / 64;
    if (word < lowest) lowest = word;
    bits = slab.free_bits()[word];
  }
  slab.free_bits()[word] = bits;
  slab.count_back(done, lowest);
  return done;
}

WordOfBlocks gather_word(const Slab& slab, const SlabRemoteFrees& remote, const SizeClass& sizes, void* const* blocks,
                         size_t count) {
  const uintptr_t start = address_of(remote.start());
  const size_t bytes = size_t{sizes.blocks_per_slab} * sizes.block_size;
  const size_t slot = slot_at(slab, sizes, address_of(blocks[0]) - start, sizes.blocks_per_slab);
  WordOfBlocks some{slot / 64, uint64_t{1} << (slot % 64), 1};
  for (; some.count != count; ++some.count) {
    const size_t offset = address_of(blocks[some.count]) - start;
    if (offset >= bytes || sizes.slot_of(offset) / 64 != some.word) break;
    const uint64_t bit = uint64_t{1} << (slot_at(slab, sizes, offset, sizes.blocks_per_slab) % 64);
    if ((some.mask & bit) != 0) die_of_misuse("free", blocks[some.count], kAlreadyFree);
    some.mask |= bit;
  }
  return some;
}

size_t put_back_word(Slab& slab, size_t word, uint64_t mask) {
  const size_t last = word * 64 + 63 - static_cast<size_t>(leading_zeros(mask));
  if (last >= slab.carved) die_of_misuse("free", slab.block(last), kNeverHandedOut);
  const uint64_t twice = slab.free_bits()[word] & mask;
  if (twice != 0) die_of_double_free(slab, word * 64 + static_cast<size_t>(trailing_zeros(twice)));
  slab.free_bits()[word] |= mask;
  const size_t count = count_ones(mask);
  slab.count_back(count, word);
  return count;
}

}  // namespace snug
