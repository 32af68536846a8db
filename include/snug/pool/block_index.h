// pool/block_index.h: from an address to the slots of the block in which it lies, in O(1). For a checked pool, to which
// callers may pass any address.
//
//   granule (address >> shift) -> the slots of each block that touches it      open addressing, at most half full
//
// A granule is about as long as the pool's longest blocks, so that most blocks touch two of them and few share one.
// Single blocks are not removed: the pool empties the index and enters its blocks again. The table comes from snug's
// heap, whatever the pool's source is, so that a checked pool asks its source for the same blocks as an unchecked one.
//
// Each entry has a seal (seal.h): one that was written over matches nothing, and leads nowhere.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "snug/base/cpp20.h"
#include "snug/base/extremes.h"
#include "snug/base/seal.h"
#include "snug/heap_scope.h"
#include "snug/snug.h"

namespace snug {

// The slots of one block. A null start: none.
struct PoolSlots {
  char* start;
  std::size_t bytes;
};

class PoolBlockIndex {
 public:
  // `longest` is how many bytes the pool's blocks have once it is large.
  constexpr explicit PoolBlockIndex(std::size_t longest)
      : shift_(static_cast<unsigned>(std::bit_width(smaller(larger(longest, 64), kMostGranule))) - 1) {}

  // True if one more block of that length can be noted.
  bool has_room_for(std::size_t block_bytes) const noexcept {
    return 2 * (noted_ + granules(block_bytes)) <= capacity_;
  }
  // Makes such room: a new table, in which no block is noted or entered until `enter_all()` does so. False, and
  // unchanged, if there is no memory.
  template <class EnterAll>
  bool make_room_for(std::size_t block_bytes, EnterAll enter_all) noexcept {
    while (!has_room_for(block_bytes)) {
      const std::size_t capacity = capacity_for(block_bytes);
      auto* const table = make_table(capacity);
      if (table == nullptr) return has_room_for(block_bytes);
      // A callback at the process's limit (snug/limits.h) may have used the pool meanwhile.
      if (has_room_for(block_bytes) || capacity < capacity_for(block_bytes)) {
        snug_free(table);
        continue;
      }
      snug_free(table_);
      table_ = table;
      capacity_ = capacity;
      hash_shift_ = 64 - static_cast<unsigned>(std::countr_zero(capacity));
      noted_ = 0;
      enter_all();
    }
    return true;
  }
  // The pool has a block of that length, for which there is room: entering it cannot fail.
  void note(std::size_t block_bytes) noexcept { noted_ += granules(block_bytes); }

  void enter(PoolSlots slots) noexcept {
    const auto start = reinterpret_cast<uintptr_t>(slots.start);
    const uintptr_t last = (start + slots.bytes - 1) >> shift_;
    for (uintptr_t granule = start >> shift_; granule <= last; ++granule) {
      // More than enough entries are free, unless the table was written over: then the loop ends, and the block is lost
      // from the index.
      std::size_t at = home_of(granule);
      for (std::size_t probe = 0; table_[at].slots.start != nullptr && probe < capacity_; ++probe) at = behind(at);
      table_[at] = {slots, right_seal(slots)};
    }
  }

  // The slots in which the address lies. O(1). Tries those found last first, since neighbours are often freed together.
  PoolSlots find(const void* address) noexcept {
    if (is_in(latest_, address)) [[likely]]
      return latest_;
    const PoolSlots found = look_up(address);
    if (found.start != nullptr) latest_ = found;
    return found;
  }

  // The same only by the table.
  [[gnu::noinline]] PoolSlots look_up(const void* address) const noexcept {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    std::size_t at = home_of(wanted >> shift_);
    for (std::size_t probe = 0; probe < capacity_; ++probe, at = behind(at)) {
      const Entry& entry = table_[at];
      if (entry.slots.start == nullptr) break;
      if (is_in(entry.slots, address) && entry.seal == right_seal(entry.slots)) return entry.slots;
    }
    return {nullptr, 0};
  }

  // Removes all blocks; the table stays. O(entries).
  void clear() noexcept {
    for (std::size_t i = 0; i < capacity_; ++i) table_[i] = Entry{};
    noted_ = 0;
    latest_ = {nullptr, 0};
  }
  // The same, and the table's memory goes back.
  void release() noexcept {
    snug_free(table_);
    table_ = nullptr;
    capacity_ = noted_ = 0;
    hash_shift_ = 63;
    latest_ = {nullptr, 0};
  }

  // As many bytes as all noted blocks have, or some more.
  std::size_t most_bytes() const noexcept { return noted_ << shift_; }

 private:
  static constexpr std::size_t kMostGranule = std::size_t{1} << 16;
  static constexpr std::size_t kFewestEntries = 32;

  struct Entry {
    PoolSlots slots;
    uintptr_t seal;
  };

  static Entry* make_table(std::size_t capacity) noexcept {
    const HeapScope outside(nullptr);
    return static_cast<Entry*>(snug_calloc(capacity, sizeof(Entry)));
  }
  std::size_t capacity_for(std::size_t block_bytes) const noexcept {
    return larger(kFewestEntries, std::bit_ceil(2 * (noted_ + granules(block_bytes))));
  }
  // The most granules that a block touches.
  std::size_t granules(std::size_t block_bytes) const noexcept { return (block_bytes >> shift_) + 2; }
  static uintptr_t right_seal(PoolSlots slots) noexcept { return seal_of(slots.start, slots.bytes); }
  static bool is_in(PoolSlots slots, const void* address) noexcept {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(slots.start) < slots.bytes;
  }
  // Neighbours lie apart: the golden ratio spreads any row of numbers evenly.
  std::size_t home_of(uintptr_t granule) const noexcept {
    return static_cast<std::size_t>(granule * 0x9E3779B97F4A7C15 >> hash_shift_);
  }
  std::size_t behind(std::size_t at) const noexcept { return (at + 1) & (capacity_ - 1); }

  PoolSlots latest_{nullptr, 0};
  Entry* table_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two, or 0
  std::size_t noted_ = 0;     // granules of all noted blocks
  unsigned shift_;
  unsigned hash_shift_ = 63;  // without a table: of no meaning, and no shift by 64
};

// Replaces the index in an unchecked pool.
struct NoPoolBlockIndex {
  constexpr explicit NoPoolBlockIndex(std::size_t) {}
};

}  // namespace snug
