/* EXPECT abort: snug: CellHeap::deallocate\({address}\): block was written past its end
 * cell_overrun.cc: a block is written past its end; its own free in a debug build sees it. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<snug::DebugCellPolicy> heap;
  heap.add_region(memory, sizeof memory);
  void* const block = heap.allocate(24);
  heap.allocate(24);
  announce(block);
  memset(hidden(block), 0x55, 32);
  heap.deallocate(block);
  return 0;
}
