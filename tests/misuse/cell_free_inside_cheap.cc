/* EXPECT abort: snug: CellHeap::deallocate\({address}\): address is inside a block
 * cell_free_inside_cheap.cc: an address in the middle of a block; cheap checks see that no live block is there, then
 * name it. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  char* const block = static_cast<char*>(heap.allocate(100));
  announce(block + 32);
  heap.deallocate(hidden(block + 32));
  return 0;
}
