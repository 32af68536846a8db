/* EXPECT abort: snug: CellHeap::deallocate\({address}\): block is already free
 * cell_free_merged.cc: a block that has become the middle of a free cell is freed again; cheap checks see it. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  void* const before = heap.allocate(100);
  void* const block = heap.allocate(100);
  void* const behind = heap.allocate(100);
  announce(block);
  heap.deallocate(before);
  heap.deallocate(behind);
  heap.deallocate(block);
  heap.deallocate(hidden(block));
  return 0;
}
