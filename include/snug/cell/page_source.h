// Page source: where a growable cell heap gets its pages. A source is any type with
//
//   static constexpr size_t kPageBytes;      a page is a multiple of it
//   void* take(size_t bytes);                null if there is no more; aligned to 16 bytes or more
//   void give(void* page, size_t bytes);     what take gave, with the same `bytes`
//
// FixedRegions is the lack of one: all memory comes by add_region(). SnugPages, in snug/cell_heap.h, asks snug.
#pragma once

#include <stddef.h>

namespace snug {

struct FixedRegions {
  static constexpr size_t kPageBytes = 0;  // says that the heap does not grow
  static void* take(size_t) { return nullptr; }
  static void give(void*, size_t) {}
};

}  // namespace snug
