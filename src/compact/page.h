// CompactPage: the record of a run of pages that is cut into blocks of one class, or holds one large block. It lies
// apart from the blocks, so that these begin where pages do.
//
//   blocks - used == bits that are set, which are the free blocks'
//   used_words       has a bit for each word of bits in which a block is used, free_words where one is free
//
// A block's owner is the slot of its handle (handle_table.h), and how often it is pinned. A heap without handles has no
// owners.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/list.h"
#include "compact/block_map.h"

namespace snug {

// The owner of a block, in 32 bits: its handle's slot and its pins.
class BlockOwner {
 public:
  static constexpr unsigned kSlotBits = 27;
  static constexpr uint32_t kMostPins = (uint32_t{1} << (32 - kSlotBits - 1)) - 1;

  constexpr BlockOwner() = default;
  explicit constexpr BlockOwner(size_t slot) : word_(static_cast<uint32_t>(slot)) {}
  // The owner of the place that a block is being moved to.
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
class PageBin;

// Moves the object in the block `from` to the block `to`, of which the bytes are unused, and destroys the old object.
using Relocate = void (*)(void* from, void* to);

// Pages in a row.
struct PageRow {
  char* start = nullptr;  // null: there is none
  size_t bytes = 0;
  void* backing = nullptr;  // the source's record of it: a span, or a mapping
  bool is_mapping = false;  // too large for the pages of the store
  explicit operator bool() const { return start != nullptr; }
};

struct alignas(64) CompactPage {
  static constexpr uint8_t kLarge = 255;  // stands for no class
  // The levels by which pages that are not full are sorted: eighths.
  static constexpr uint8_t kLevels = 8;
  // Where a page is listed.
  static constexpr uint8_t kHeld = kLevels;          // not full, but it holds a pinned block
  static constexpr uint8_t kUnlisted = kLevels + 1;  // full, or large

  ListLink<CompactPage> in_list;
  ListLink<CompactPage> in_all;
  const BlockPages* home = nullptr;  // the heap's
  PageBin* bin = nullptr;            // null: a large block
  Relocate relocate = nullptr;       // null: what the blocks hold is moved by copying its bytes
  PageRow row;
  size_t block = 0;      // bytes
  uint32_t inverse = 0;  // as that of the class; 0 for a large block
  uint16_t blocks = 0;
  uint16_t used = 0;
  uint16_t used_words = 0;
  uint16_t free_words = 0;
  uint16_t words = 0;
  uint16_t pinned = 0;  // pinned blocks
  uint16_t carved = 0;  // so many blocks were in use before; the memory of those behind is untouched
  // The page stays in its list while place_from <= used < place_from + place_span.
  uint16_t place_from = 0;
  uint16_t place_span = 0;
  uint8_t size_class = 0;
  uint8_t list = kUnlisted;

  static constexpr size_t record_bytes(size_t blocks, bool has_owners) {
    return sizeof(CompactPage) + words_of_bits(blocks) * sizeof(uint64_t) +
           (has_owners ? round_up(blocks * sizeof(BlockOwner), sizeof(uint64_t)) : 0);
  }

  uint64_t* bits() { return reinterpret_cast<uint64_t*>(this + 1); }
  const uint64_t* bits() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  BlockOwner& owner(size_t index) { return reinterpret_cast<BlockOwner*>(bits() + words)[index]; }
  const BlockOwner& owner(size_t index) const { return reinterpret_cast<const BlockOwner*>(bits() + words)[index]; }

  char* block_at(size_t index) const { return row.start + index * block; }
  // As BlockClass::index_at().
  size_t index_at(const void* address) const { return (address_of(address) - address_of(row.start)) * inverse >> 32; }
  bool is_full() const { return used == blocks; }
  bool is_carved() const { return carved == blocks; }
  bool is_large() const { return bin == nullptr; }

  bool is_in_place() const { return static_cast<uint16_t>(used - place_from) < place_span; }

  bool holds(size_t index) const { return index < blocks && !tests_bit(bits(), index); }

  void free_all() {
    words = static_cast<uint16_t>(words_of_bits(blocks));
    for (size_t word = 0; word < words; ++word) bits()[word] = all_of(word);
    free_words = static_cast<uint16_t>((1u << words) - 1);
  }
  // Takes the first free block; there must be one.
  size_t take() {
    const auto word = static_cast<size_t>(trailing_zeros(uint32_t{free_words}));
    const auto bit = static_cast<size_t>(trailing_zeros(bits()[word]));
    bits()[word] &= bits()[word] - 1;
    used_words |= static_cast<uint16_t>(1u << word);
    if (bits()[word] == 0) free_words &= static_cast<uint16_t>(~(1u << word));
    ++used;
    const size_t index = word * 64 + bit;
    if (index == carved) ++carved;
    return index;
  }
  void give(size_t index) {
    const size_t word = index / 64;
    bits()[word] |= uint64_t{1} << index % 64;
    free_words |= static_cast<uint16_t>(1u << word);
    if (bits()[word] == all_of(word)) used_words &= static_cast<uint16_t>(~(1u << word));
    --used;
  }
  // The last used block; there must be one.
  size_t last_used() const {
    const size_t word = 31 - static_cast<size_t>(leading_zeros(uint32_t{used_words}));
    return word * 64 + 63 - static_cast<size_t>(leading_zeros(~bits()[word] & all_of(word)));
  }
  // The used block behind which `number` (modulo `used`) used ones lie.
  size_t last_used(size_t number) const {
    size_t index = last_used();
    for (number %= used; number != 0; --number) {
      do --index;
      while (!holds(index));
    }
    return index;
  }
  // The bits of a word that stand for blocks.
  uint64_t all_of(size_t word) const {
    const size_t rest = blocks - word * 64;
    return rest < 64 ? (uint64_t{1} << rest) - 1 : ~uint64_t{0};
  }
};

// A block's place in a page.
struct BlockPlace {
  CompactPage* page = nullptr;  // null: there is none
  size_t index = 0;

  char* block() const { return page->block_at(index); }
  BlockOwner& owner() const { return page->owner(index); }
  friend bool operator==(const BlockPlace&, const BlockPlace&) = default;
};

}  // namespace snug
