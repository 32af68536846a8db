/* EXPECT abort: snug: CellHeap::allocate\({address}\): a free cell's link leads out of the heap
 * cell_write_after_free.cc: a freed block is written to; a debug build reports it before the block is given again. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<snug::DebugCellPolicy> heap;
  heap.add_region(memory, sizeof memory);
  void* const block = heap.allocate(100);
  heap.allocate(100);
  announce(&heap);
  heap.deallocate(block);
  memset(hidden(block), 0x55, sizeof(void*));
  heap.allocate(100);
  return 0;
}
