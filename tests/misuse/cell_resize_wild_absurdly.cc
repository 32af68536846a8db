/* EXPECT abort: snug: CellHeap::resize\({address}\): address is in no region of this heap
 * cell_resize_wild_absurdly.cc: an address where nothing is mapped is to become longer than any block can be. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  void* const wild = reinterpret_cast<void*>(uintptr_t{0x7000});
  announce(wild);
  heap.resize(hidden(wild), SIZE_MAX);
  return 0;
}
