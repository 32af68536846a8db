// HeapRegion: memory of the program's own in which all blocks of one user heap lie, whole pages of it. What is known of
// its pages lies elsewhere (heap/region_map.h): nothing here reads or writes the region, or tells the OS of it.
//
// A row of pages is the first that fits, by address. Its heap's lock guards it.
//
//   no 2^power free pages in a row begin below lowest_[power]
//
// So a request passes by the rows that are shorter than the power of two below its length, of which a fragmented region
// has many, once and not each time. O(pages / 64) at worst.
#pragma once

#include <stddef.h>

#include "base/bits.h"
#include "base/units.h"
#include "heap/region_map.h"

namespace snug {

class HeapRegion {
 public:
  // None; what follows needs one.
  constexpr HeapRegion() = default;
  // The map knows the pages as a region's.
  HeapRegion(RegionMap& map, const void* start, size_t bytes)
      : map_(&map), first_(RegionMap::page_of(start)), end_(first_ + (bytes >> kPageShift)) {
    for (size_t& lowest : lowest_) lowest = first_;
  }

  bool is_there() const { return map_ != nullptr; }
  size_t first_page() const { return first_; }

  // A row of `pages`, at a multiple of `alignment` pages (a power of two); null if no free row is so long.
  char* take(size_t pages, size_t alignment);
  void give(const void* start, size_t pages);
  // Gives a row another length where it lies; false, and nothing has changed, if pages behind it are taken.
  bool resize(const void* start, size_t pages, size_t new_pages);
  // The region is the program's again, whatever was taken.
  void end() { map_->disclaim(first_, end_); }

  size_t bytes_taken() const;
  // Null, or the broken part of the invariant.
  const char* check() const;

 private:
  static constexpr unsigned kPowers = bit_width(kPagesPerChunk);  // up to a chunk's pages

  RegionMap* map_ = nullptr;
  size_t first_ = 0;
  size_t end_ = 0;
  size_t lowest_[kPowers] = {};
};

}  // namespace snug
