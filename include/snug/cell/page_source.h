// Page source: where a growable cell heap gets its pages. A source is any type with
//
//   static constexpr size_t kPageBytes;      a page is a multiple of it
//   void* take(size_t bytes);                null if there is no more; aligned to 16 bytes or more
//   void give(void* page, size_t bytes);     takes back what take returned, with the same `bytes`
//
// FixedRegions stands for no source: all memory comes by add_region(). SnugPages, in snug/cell_heap.h, takes pages from
// snug's heap.
#pragma once

#include <stddef.h>

namespace snug {

struct FixedRegions {
  static constexpr size_t kPageBytes = 0;  // says that the heap does not grow
  static void* take(size_t) { return nullptr; }
  static void give(void*, size_t) {}
};

}  // namespace snug
