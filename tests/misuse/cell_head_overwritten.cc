/* EXPECT abort: snug: CellHeap::deallocate\({address}\): a cell's head is damaged
 * cell_head_overwritten.cc: all bits of a block's head are set; cheap checks see it. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  char* const block = static_cast<char*>(heap.allocate(100));
  announce(block);
  memset(hidden(block - sizeof(size_t)), 0xff, sizeof(size_t));
  heap.deallocate(block);
  return 0;
}
