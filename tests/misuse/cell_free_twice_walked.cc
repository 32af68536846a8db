/* EXPECT abort: snug: CellHeap::deallocate\({address}\): block is already free
 * cell_free_twice_walked.cc: a block that has merged is freed again to a cell heap of a debug build. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<snug::DebugCellPolicy> heap;
  heap.add_region(memory, sizeof memory);
  void* const before = heap.allocate(100);
  void* const block = heap.allocate(100);
  announce(block);
  heap.deallocate(before);
  heap.deallocate(block);
  heap.deallocate(hidden(block));
  return 0;
}
