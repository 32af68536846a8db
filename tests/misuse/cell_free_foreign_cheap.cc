/* EXPECT abort: snug: CellHeap::deallocate\({address}\): address is in no region of this heap
 * cell_free_foreign_cheap.cc: a variable is freed to a cell heap; cheap checks see it. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  static char variable[64];
  announce(variable + 16);
  heap.deallocate(hidden(variable + 16));
  return 0;
}
