// SnugPages: a page source of a cell heap that takes its pages from snug's own heap. Needs libsnug.
#pragma once

#include <stddef.h>

#include "snug/heap.h"
#include "snug/snug.h"

namespace snug {

template <size_t kBytes = size_t{64} << 10>
struct SnugPages {
  static constexpr size_t kPageBytes = kBytes;
  static_assert(kBytes % 64 == 0 && kBytes != 0, "pages begin at cache lines");

  static void* take(size_t bytes) {
    snug_heap* const before = snug_heap_enter(nullptr);  // the heap of a scope may end sooner
    void* const page = snug_aligned_alloc(64, bytes);
    snug_heap_leave(before);
    return page;
  }
  static void give(void* page, size_t) { snug_free(page); }
};

}  // namespace snug
