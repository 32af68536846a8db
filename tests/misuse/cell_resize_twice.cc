/* EXPECT abort: snug: CellHeap::resize\({address}\): block is already free
 * cell_resize_twice.cc: a freed block of a cell heap is resized. */
#include "misuse.h"
#include "snug/cell_heap.h"

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<> heap;
  heap.add_region(memory, sizeof memory);
  void* const block = heap.allocate(100);
  announce(block);
  heap.deallocate(block);
  return heap.resize(hidden(block), 200) == nullptr;
}
