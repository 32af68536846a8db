// SnugPages: a page source of a cell heap that takes its pages from snug's own heap. Needs libsnug.
#pragma once

#include <stddef.h>

#include "snug/heap_scope.h"
#include "snug/snug.h"

namespace snug {

template <size_t kBytes = size_t{64} << 10>
struct SnugPages {
  static constexpr size_t kPageBytes = kBytes;
  static_assert(kBytes % 64 == 0 && kBytes != 0, "pages begin at cache lines");

  static void* take(size_t bytes) {
    const HeapScope outside(nullptr);  // the heap of a scope may end sooner
    return snug_aligned_alloc(64, bytes);
  }
  static void give(void* page, size_t) { snug_free(page); }
};

}  // namespace snug
