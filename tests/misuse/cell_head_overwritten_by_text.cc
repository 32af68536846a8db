/* EXPECT abort: snug: CellHeap::deallocate\({address}\): a used cell and its neighbour disagree
 * cell_head_overwritten_by_text.cc: letters are written over a block's head; they look like a live block's head of a
 * size that no region has, which cheap checks do not follow. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  void* const first = heap.allocate(32);
  void* const second = heap.allocate(32);
  announce(second);
  memset(hidden(first), 'a', 48);
  heap.deallocate(second);
  return 0;
}
