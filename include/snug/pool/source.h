// pool/source.h: where a pool gets its blocks. A source is a small object with
//
//   void* allocate(size_t bytes, size_t alignment);          null when there is no memory; noexcept, except for the
//                                                            pools of a resource, which hand out one at a time
//   void deallocate(void* block, size_t bytes, size_t alignment);  with allocate's arguments; must not throw
//
// The default is snug's heap; the pools of a std::pmr resource draw from its upstream; a test may count or refuse.
#pragma once

#include <cstddef>

#include "snug/heap_scope.h"
#include "snug/snug.h"

namespace snug {

// Memory as malloc's, and in a scope the scope's. Thread-safe.
struct HeapMemory {
  static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    // malloc guarantees its own alignment for every size.
    return alignment <= kMallocAlignment ? snug_malloc(bytes) : snug_aligned_alloc(alignment, bytes);
  }
  static void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment <= kMallocAlignment)
      snug_free_sized(block, bytes);
    else
      snug_free_aligned_sized(block, alignment, bytes);
  }

 private:
  static constexpr std::size_t kMallocAlignment = 16;
};

// The same for pools, and for what threads keep of them: they live on where a scope's heap ends. Thread-safe.
struct HeapSource {
  static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const HeapScope outside(nullptr);
    return HeapMemory::allocate(bytes, alignment);
  }
  static void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    HeapMemory::deallocate(block, bytes, alignment);
  }
};

}  // namespace snug
