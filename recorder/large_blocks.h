// LargeBlocks: where large blocks begin, as far as it takes to pass over all others by one look-up; and what was
// touched of one, told right before it goes. Programs ask for more than they use: buffers, tables, arenas.
//
//   count of a place == large blocks that begin in one of its OS pages, 255 standing for more
//
// So a block that begins where no large one does is passed over, and of the others the allocator says the size. The
// table forgets nothing while recording pauses: each function of the family notes whatever comes and goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/recording.h"
#include "recorder/watched.h"

namespace snug::recorder {

class LargeBlocks {
 public:
  bool may_begin_at(const void* block) const { return place_of(block).load(std::memory_order_relaxed) != 0; }
  void add(const void* block) { change(block, 1); }
  void remove(const void* block) { change(block, -1); }

 private:
  static constexpr std::size_t kPlaces = std::size_t{1} << 16;
  static constexpr std::uint8_t kMany = 255;

  using Place = std::atomic<std::uint8_t>;

  static std::size_t number_of(const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) / kPageBytes % kPlaces;
  }
  Place& place_of(const void* block) { return places_[number_of(block)]; }
  const Place& place_of(const void* block) const { return places_[number_of(block)]; }
  // A place that has had many keeps them for good, since nobody knows how many they were.
  void change(const void* block, int difference) {
    Place& place = place_of(block);
    std::uint8_t count = place.load(std::memory_order_relaxed);
    do
      if (count == kMany || (count == 0 && difference < 0)) return;
    while (
        !place.compare_exchange_weak(count, static_cast<std::uint8_t>(count + difference), std::memory_order_relaxed));
  }

  Place places_[kPlaces] = {};
};

extern LargeBlocks large_blocks;

// Both leave errno as it is. What the allocator does inside of its own calls is passed over.
void note_large(const void* block);
void tell_touched_pages(void* block);

// How large a block is, its usable size says, when it comes and when it goes alike; that may be twice of what was
// asked.
inline void note_if_large(const void* block, std::size_t size) {
  if (size >= kLeastLookedAt / 2 && block != nullptr) [[unlikely]]
    note_large(block);
}

}  // namespace snug::recorder
