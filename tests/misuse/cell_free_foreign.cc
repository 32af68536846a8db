/* EXPECT abort: snug: CellHeap::deallocate\({address}\): address is in no region of this heap
 * cell_free_foreign.cc: a block of malloc is freed to a cell heap of a debug build. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<snug::DebugCellPolicy> heap;
  heap.add_region(memory, sizeof memory);
  void* const block = malloc(100);
  announce(block);
  heap.deallocate(hidden(block));
  return 0;
}
