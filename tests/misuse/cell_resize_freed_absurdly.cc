/* EXPECT abort: snug: CellHeap::resize\({address}\): block is already free
 * cell_resize_freed_absurdly.cc: a freed block is to become longer than any can be: that it is free comes first. */
#include "misuse.h"
#include "snug/cell/locked_cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::LockedCellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  void* const block = heap.allocate(100);
  announce(block);
  if (heap.resize(block, SIZE_MAX) != nullptr) return 98;  // it is refused, and the block stays
  heap.deallocate(block);
  heap.resize(hidden(block), SIZE_MAX);
  return 0;
}
