// LargeBlockFilter: a filter by which one look-up skips almost all blocks that are not large; and which pages of a
// large block were touched, recorded right before it is freed. Programs request more than they use: buffers, tables,
// arenas.
//
//   count of a place == large blocks that begin in one of its OS pages, 255 standing for more
//
// So a block that begins where no large one does is skipped, and for the others the allocator is asked for the size.
// The table is kept up to date while recording pauses: each function of the family notes allocations and frees.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/recording.h"
#include "recorder/watched.h"

namespace snug::recorder {

class LargeBlockFilter {
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
  // A place that has reached 255 keeps that for ever, since the true number is not known.
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

extern LargeBlockFilter large_block_filter;

// Both leave errno as it is. Calls inside of the allocator's own calls are skipped.
void note_large(const void* block);
void tell_touched_pages(void* block);

// The usable size decides whether a block is large, at its allocation and at its free alike; that may be twice the
// requested size.
inline void note_if_large(const void* block, std::size_t size) {
  if (size >= kLeastLookedAt / 2 && block != nullptr) [[unlikely]]
    note_large(block);
}

}  // namespace snug::recorder
