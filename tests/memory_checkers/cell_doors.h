// The doors of heaps of cells.
#pragma once

#include <snug/cell/locked_cell_heap.h>
#include <snug/cell_heap.h>
#include <snug/cell_heap_c.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "use_after_free.h"

// The place that a block has left to become longer.
template <class Heap>
void cell_resize_door() {
  alignas(16) static char memory[1 << 16];
  {
    Heap heap;
    heap.add_region(memory, sizeof memory);
    void* const left = heap.allocate(sizeof(Object));
    void* const behind = heap.allocate(16);
    std::memset(left, 1, sizeof(Object));
    void* const block = heap.resize(left, 1000);
    if (block == left) std::puts("in place");
    use_after_free(left);
    heap.deallocate(block);
    heap.deallocate(behind);
  }
  std::memset(memory, 0, sizeof memory);  // the caller's own again
}

template <class Heap>
void cell_door() {
  alignas(16) static char memory[1 << 18];
  {
    Heap heap;
    heap.add_region(memory, sizeof memory);
    unsigned calls = 0;
    go_through(
        [&]() -> void* {
          if (++calls % 3 == 0) return heap.allocate_aligned(64, sizeof(Object));
          if (calls % 3 == 1) return heap.allocate(sizeof(Object));
          void* const block = heap.allocate(16);
          void* const longer = heap.resize(block, 400);
          std::memset(longer, 1, 400);
          return heap.resize_in_place(longer, sizeof(Object)) ? longer : nullptr;
        },
        [&](void* block) { heap.deallocate(block); });
    if (heap.check() != nullptr) std::puts("unsound");
    static_cast<void>(heap.statistics());
    static_cast<void>(heap.release_unused());
  }
  std::memset(memory, 0, sizeof memory);  // the caller's own again
}

inline void cell_c_door() {
  alignas(16) static char memory[1 << 18];
  snug_cell_heap* const heap = snug_cell_heap_create(memory, sizeof memory);
  go_through([&] { return snug_cell_malloc(heap, sizeof(Object)); }, [&](void* block) { snug_cell_free(heap, block); });
  if (snug_cell_check(heap) != nullptr) std::puts("unsound");
  std::memset(memory, 0, sizeof memory);  // the caller's own again
}
