// The doors of the heap that malloc has: blocks, batches, allocators, and the resources on it.
#pragma once

#include <snug/allocator.h>
#include <snug/resource.h>
#include <snug/snug.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory_resource>

#include "use_after_free.h"

inline void malloc_door() {
  unsigned calls = 0;
  go_through(
      [&]() -> void* {
        if (++calls % 3 == 0) return snug_aligned_alloc(64, sizeof(Object));
        if (calls % 3 == 1) return snug_realloc(snug_calloc(2, 8), sizeof(Object));
        return snug_malloc(sizeof(Object));
      },
      snug_free);
  // More than the quarantine holds, of sizes from small blocks to mappings of their own.
  for (size_t size = 1; size < (size_t{4} << 20); size += size / 3 + 1) {
    for (unsigned i = 0; i < 8; ++i) {
      auto* const zeroed = static_cast<char*>(snug_calloc(1, size));
      for (size_t byte = 0; byte < size; byte += 64) {
        if (zeroed[byte] != 0) std::puts("not zero");
      }
      auto* const longer = static_cast<char*>(snug_realloc(zeroed, size + size / 2));
      std::memset(longer, 1, size + size / 2);
      snug_free(longer);
    }
  }
  if (snug_check(0) != nullptr) std::puts("unsound");
  snug_malloc_trim(0);
}

// Every call that takes a size or an alignment its own way.
inline void aligned_door() {
  unsigned calls = 0;
  go_through(
      [&]() -> void* {
        switch (++calls % 5) {
          case 0: {
            void* block = nullptr;
            return snug_posix_memalign(&block, 128, sizeof(Object)) == 0 ? block : nullptr;
          }
          case 1:
            return snug_memalign(32, sizeof(Object));
          case 2:
            return snug_reallocarray(nullptr, kWords, sizeof(long));
          case 3:
            return calls % 100 == 3 ? snug_pvalloc(sizeof(Object)) : snug_aligned_alloc(16, sizeof(Object));
          default:
            return calls % 100 == 4 ? snug_valloc(sizeof(Object)) : snug_aligned_alloc(256, sizeof(Object));
        }
      },
      snug_free);
}

inline void free_sized_door() {
  go_through([] { return snug_malloc(sizeof(Object)); }, [](void* block) { snug_free_sized(block, sizeof(Object)); });
}
inline void free_aligned_sized_door() {
  go_through([] { return snug_aligned_alloc(64, sizeof(Object)); },
             [](void* block) { snug_free_aligned_sized(block, 64, sizeof(Object)); });
}

// The place that a block has left to become longer.
inline void realloc_door() {
  void* const left = snug_malloc(sizeof(Object));
  std::memset(left, 1, sizeof(Object));
  void* const block = snug_realloc(left, 100000);
  if (block == left) std::puts("in place");
  use_after_free(left);
  snug_free(block);
}

inline void uncached_door() {
  go_through([] { return snug_malloc_uncached(sizeof(Object)); }, snug_free_uncached);
}

inline void batch_door() {
  void* blocks[100];
  for (unsigned round = 0; round < 3; ++round) {
    if (snug_malloc_batch(sizeof(Object), blocks, 100) != 100) std::puts("no memory");
    for (void* const block : blocks) std::memset(block, 1, sizeof(Object));
    snug_free_batch(blocks, 100);
  }
  use_after_free(blocks[50]);
}

template <class Allocator>
void allocator_door(Allocator allocator = {}) {
  go_through([&] { return static_cast<void*>(allocator.allocate(1)); },
             [&](void* memory) { allocator.deallocate(static_cast<Object*>(memory), 1); });
}

inline void at_least_door() {
  snug::Allocator<long> allocator;
  std::size_t count = 0;
  go_through(
      [&]() -> void* {
        const auto array = allocator.allocate_at_least(kWords);
        count = array.count;
        return array.ptr;
      },
      [&](void* memory) { allocator.deallocate(static_cast<long*>(memory), count); });
}

inline void resource_door(std::pmr::memory_resource& resource) {
  go_through([&] { return resource.allocate(sizeof(Object)); },
             [&](void* memory) { resource.deallocate(memory, sizeof(Object)); });
}

template <class Resource>
void resource_release_door() {
  Resource resource;
  void* const block = resource.allocate(sizeof(Object));
  std::memset(block, 1, sizeof(Object));
  resource.release();
  use_after_free(block);
}

template <class Resource>
void monotonic_door() {
  alignas(16) static char buffer[4096];
  {
    Resource resource(buffer, sizeof buffer);
    void* const first = resource.allocate(sizeof(Object));
    std::memset(first, 0, sizeof(Object));
    for (unsigned i = 0; i < 1000; ++i) std::memset(resource.allocate(48), 1, 48);
    resource.release();
    use_after_free(first);
    std::memset(resource.allocate(48), 1, 48);
    const auto mark = resource.mark();
    for (unsigned i = 0; i < 1000; ++i) std::memset(resource.allocate(48), 1, 48);
    resource.rewind(mark);
    std::memset(resource.allocate(48), 1, 48);
  }
  std::memset(buffer, 0, sizeof buffer);  // the caller's own again
}

template <class Resource>
void rewind_door() {
  Resource resource;
  std::memset(resource.allocate(48), 1, 48);
  const auto mark = resource.mark();
  void* const taken = resource.allocate(sizeof(Object));
  std::memset(taken, 1, sizeof(Object));
  resource.rewind(mark);
  use_after_free(taken);
}
