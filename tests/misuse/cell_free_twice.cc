/* EXPECT abort: snug: CellHeap::deallocate\({address}\): block is already free
 * cell_free_twice.cc: a block of a cell heap is freed twice; cheap checks see it. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  void* const block = heap.allocate(100);
  announce(block);
  heap.deallocate(block);
  heap.deallocate(hidden(block));
  return 0;
}
