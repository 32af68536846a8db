/* EXPECT abort: snug: CellHeap::free\({address}\): a used cell and its neighbour disagree
 * cell_overrun.cc: a block is written past its end; the next free in a debug build sees its neighbour's head. */
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
  heap.free(block);
  return 0;
}
