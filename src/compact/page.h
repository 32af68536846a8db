// CompactPage: the record of a run of pages that is cut into blocks of one class, or holds one large block. It lies
// apart from the blocks, so that these begin where pages do.
//
//   used      == bits that are set == owners that are not free
//   used_words, full_words   have a bit for each word of bits that is not all zero, and that is all one
//
// A block's owner is the slot of its handle (handle_table.h), and how often it is pinned. A heap without handles has no
// owners.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"
#include "base/list.h"
#include "compact/block_map.h"

namespace snug {

// Whose a block is, in 32 bits.
class BlockOwner {
 public:
  static constexpr unsigned kSlotBits = 27;
  static constexpr uint32_t kMostPins = (uint32_t{1} << (32 - kSlotBits - 1)) - 1;

  constexpr BlockOwner() = default;
  explicit constexpr BlockOwner(size_t slot) : word_(static_cast<uint32_t>(slot)) {}
  // Of the place that a block moves to, until it is there.
  static constexpr BlockOwner arriving(size_t slot) { return BlockOwner(slot | kArriving); }

  constexpr size_t slot() const { return word_ & kSlots; }
  constexpr bool is_arriving() const { return (word_ & kArriving) != 0; }
  constexpr uint32_t pins() const { return word_ >> (kSlotBits + 1); }
  constexpr void pin() { word_ += kPin; }
  constexpr void unpin() { word_ -= kPin; }

 private:
  static constexpr uint32_t kSlots = (uint32_t{1} << kSlotBits) - 1;
  static constexpr uint32_t kArriving = uint32_t{1} << kSlotBits;
  static constexpr uint32_t kPin = kArriving << 1;
  uint32_t word_ = 0;
};

class BlockPages;

// Pages in a row.
struct PageRow {
  char* start = nullptr;  // null: there is none
  size_t bytes = 0;
  void* backing = nullptr;  // what the source knows it by
  bool is_mapping = false;  // too large for the pages of the store
};

struct alignas(64) CompactPage {
  static constexpr uint8_t kLarge = BlockMap::kMostClasses;  // in the place of a class
  // How full pages that are not full are told apart: by eighths.
  static constexpr uint8_t kLevels = 8;
  // Where a page is listed.
  static constexpr uint8_t kHeld = kLevels;          // not full, but it holds a pinned block
  static constexpr uint8_t kUnlisted = kLevels + 1;  // full, or large

  ListLink<CompactPage> in_list;
  ListLink<CompactPage> in_all;
  const BlockPages* home = nullptr;  // the heap's
  PageRow row;
  size_t block = 0;  // bytes
  uint16_t blocks = 0;
  uint16_t used = 0;
  uint16_t used_words = 0;
  uint16_t full_words = 0;
  uint16_t words = 0;
  uint16_t pinned = 0;  // blocks that are
  uint8_t size_class = 0;
  uint8_t list = kUnlisted;

  static constexpr size_t words_for(size_t blocks) { return (blocks + 63) / 64; }
  static constexpr size_t record_bytes(size_t blocks, bool has_owners) {
    return sizeof(CompactPage) + words_for(blocks) * sizeof(uint64_t) +
           (has_owners ? round_up(blocks * sizeof(BlockOwner), sizeof(uint64_t)) : 0);
  }

  uint64_t* bits() { return reinterpret_cast<uint64_t*>(this + 1); }
  const uint64_t* bits() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  BlockOwner& owner(size_t index) { return reinterpret_cast<BlockOwner*>(bits() + words)[index]; }
  const BlockOwner& owner(size_t index) const { return reinterpret_cast<const BlockOwner*>(bits() + words)[index]; }

  char* block_at(size_t index) const { return row.start + index * block; }
  bool is_full() const { return used == blocks; }
  bool is_large() const { return size_class == kLarge; }
  uint8_t level() const { return static_cast<uint8_t>(size_t{used} * kLevels / blocks); }

  bool holds(size_t index) const { return index < blocks && tests_bit(bits(), index); }

  // The first free block becomes used; there is one.
  size_t take() {
    const auto word = static_cast<size_t>(std::countr_one(full_words));
    const auto bit = static_cast<size_t>(std::countr_one(bits()[word]));
    set(word, bit);
    return word * 64 + bit;
  }
  void give(size_t index) {
    const size_t word = index / 64;
    bits()[word] &= ~(uint64_t{1} << index % 64);
    full_words &= static_cast<uint16_t>(~(1u << word));
    if (bits()[word] == 0) used_words &= static_cast<uint16_t>(~(1u << word));
    --used;
  }
  // The last used block; there is one.
  size_t last_used() const {
    const size_t word = 31 - static_cast<size_t>(std::countl_zero(uint32_t{used_words}));
    return word * 64 + 63 - static_cast<size_t>(std::countl_zero(bits()[word]));
  }

 private:
  void set(size_t word, size_t bit) {
    bits()[word] |= uint64_t{1} << bit;
    used_words |= static_cast<uint16_t>(1u << word);
    if (is_word_full(word)) full_words |= static_cast<uint16_t>(1u << word);
    ++used;
  }
  bool is_word_full(size_t word) const {
    const size_t rest = blocks - word * 64;
    return bits()[word] == bit_run(0, rest < 64 ? static_cast<unsigned>(rest) : 64);
  }
};

}  // namespace snug
