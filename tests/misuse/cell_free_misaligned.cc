/* EXPECT abort: snug: CellHeap::deallocate\({address}\): address is not aligned as blocks are
 * cell_free_misaligned.cc: an address that no block can have; cheap checks see it. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  char* const block = static_cast<char*>(heap.allocate(100));
  announce(block + 4);
  heap.deallocate(hidden(block + 4));
  return 0;
}
