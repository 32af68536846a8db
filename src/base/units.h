// The units in which snug counts memory: bytes are size_t, pages have types of their own so that the two never mix.
//
//   OS page (4 KiB on x86-64)  <  page (16 KiB)  <  chunk (2 MiB, the size of a huge page)
//
// On AArch64 an OS page may have 16 or 64 KiB. Four pages then share one, and go back to the OS together or not at all.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

inline constexpr unsigned kPageShift = 14;
inline constexpr size_t kPageSize = size_t{1} << kPageShift;
// The longest OS page that the library runs on.
inline constexpr size_t kLargestOsPage = size_t{64} << 10;
inline constexpr unsigned kChunkShift = 21;
inline constexpr size_t kChunkSize = size_t{1} << kChunkShift;
inline constexpr uint32_t kPagesPerChunk = uint32_t{1} << (kChunkShift - kPageShift);

// Bytes that cores pass to each other at a time: data that all read lies in other lines than data that some write.
inline constexpr size_t kCacheLine = 64;

// A number of pages.
struct PageCount {
  uint32_t value = 0;
  constexpr size_t bytes() const { return size_t{value} << kPageShift; }
  friend constexpr bool operator==(PageCount, PageCount) = default;
  friend constexpr bool operator<(PageCount a, PageCount b) { return a.value < b.value; }
  friend constexpr bool operator>(PageCount a, PageCount b) { return b < a; }
  friend constexpr bool operator<=(PageCount a, PageCount b) { return !(b < a); }
  friend constexpr bool operator>=(PageCount a, PageCount b) { return !(a < b); }
  friend constexpr PageCount operator+(PageCount a, PageCount b) { return {a.value + b.value}; }
  friend constexpr PageCount operator-(PageCount a, PageCount b) { return {a.value - b.value}; }
};

// A page's index in the window (span/page_map.h).
struct PageId {
  uint32_t value = 0;
  constexpr uint32_t chunk() const { return value / kPagesPerChunk; }
  constexpr uint32_t in_chunk() const { return value % kPagesPerChunk; }
  constexpr PageId start_of_chunk() const { return {value - in_chunk()}; }
  friend constexpr bool operator==(PageId, PageId) = default;
  friend constexpr bool operator<(PageId a, PageId b) { return a.value < b.value; }
  friend constexpr bool operator>(PageId a, PageId b) { return b < a; }
  friend constexpr bool operator<=(PageId a, PageId b) { return !(b < a); }
  friend constexpr bool operator>=(PageId a, PageId b) { return !(a < b); }
  friend constexpr PageId operator+(PageId a, PageCount b) { return {a.value + b.value}; }
  friend constexpr PageId operator-(PageId a, PageCount b) { return {a.value - b.value}; }
  friend constexpr PageCount operator-(PageId a, PageId b) { return {a.value - b.value}; }
};

}  // namespace snug
