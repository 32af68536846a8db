// ClassList: a size-class map as data: for each class the size of its blocks and how many of them a thread may cache. A
// ClassTable is made from it (size/class_table.h), for a built-in map as for one out of a file.
//
//   row      0 (no class)   1        2       …   count - 1
//   size                    16 <=    rising, each a multiple of step_at(size)   <= 256 KiB
//
// fault_of() decides which lists are valid: the limits follow from the tables that are indexed by size.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "snug/size_class_map.h"

namespace snug {

inline constexpr size_t kMaxClasses = 84;  // class 0 is "no class"

// Sizes are looked up in steps that grow with them; each class's size is the end of a step.
inline constexpr size_t kSmallSizeMax = 1024;
inline constexpr size_t kSmallStep = 16;
inline constexpr size_t kMediumSizeMax = size_t{64} << 10;
inline constexpr size_t kMediumStep = 256;
inline constexpr size_t kLargestSizeMax = size_t{256} << 10;
inline constexpr size_t kLargestStep = 4096;

constexpr size_t step_at(size_t size) {
  return size <= kSmallSizeMax ? kSmallStep : size <= kMediumSizeMax ? kMediumStep : kLargestStep;
}

// One less than the places of the longest array of a thread's cache: a refill writes the block that it hands out there
// as well.
inline constexpr size_t kMostCached = 1023;

struct ClassList {
  struct Row {
    uint32_t size = 0;  // bytes
    uint16_t cached = 0;
  };
  Row rows[kMaxClasses] = {};
  uint32_t count = 1;  // rows 1 … count - 1 are classes

  constexpr size_t largest() const { return rows[count - 1].size; }

  // Null, or why a class of that size must not follow the present ones: a sentence without a full stop.
  constexpr const char* fault_of(uint64_t size, uint64_t cached) const {
    if (count == kMaxClasses) return "too many classes: at most 83";
    if (size > kLargestSizeMax) return "the size is beyond 262144";
    if (size == 0 || size % step_at(size) != 0)
      return "the size is no multiple of 16, or above 1024 of 256, or above 65536 of 4096";
    if (size <= largest()) return "the size is not above the one before";
    if (cached < 1 || cached > kMostCached) return "the cached blocks are not from 1 to 1023";
    return nullptr;
  }
  // Null, or why the list is not complete.
  constexpr const char* fault_of_end() const {
    if (count == 1) return "no class at all";
    if (largest() < kMediumSizeMax) return "the largest class is below 65536, where every request needs a class";
    return nullptr;
  }
  // Adds a class for which fault_of() is null.
  constexpr void add(size_t size, size_t cached) {
    rows[count++] = {static_cast<uint32_t>(size), static_cast<uint16_t>(cached)};
  }
};

// Null, or why the map's classes are no valid list.
constexpr const char* fault_of_map(const SizeClassParameters& map) {
  ClassList list;
  for (size_t c = 1; c <= map.largest_class(); ++c) {
    if (const char* fault = list.fault_of(map.size(c), map.cached(map.size(c))); fault != nullptr) return fault;
    list.add(map.size(c), map.cached(map.size(c)));
  }
  return list.fault_of_end();
}

// The list of a map without a fault. Adds a class of `also` bytes, which the map does not have; none if that is 0.
constexpr ClassList class_list_of(const SizeClassParameters& map, size_t also = 0) {
  ClassList list;
  for (size_t c = 1; c <= map.largest_class(); ++c) {
    const size_t size = map.size(c);
    if (list.largest() < also && also < size) list.add(also, map.cached(also));
    list.add(size, map.cached(size));
  }
  return list;
}

// The most common requested size above 1 KiB is a page of 4 KiB with a header: in databases, page caches and file
// buffers. Four classes a doubling would serve it by blocks of 5 KiB (decision 0064).
inline constexpr size_t kPageWithHeader = 4608;

// The default: that class, and those of DefaultSizeClassMap, which has each multiple of 16 up to 128. class_list_of()
// adds no more than one class; ClassList.DefaultHasAClassForAPageWithAHeader (tests/unit/size) and two claims pin the
// present list. What follows a change: docs/questions.md, "Where a change goes".
constexpr ClassList default_class_list() { return class_list_of(DefaultSizeClassMap::kParameters, kPageWithHeader); }

}  // namespace snug
