/* EXPECT abort: snug: CellHeap::deallocate\({address}\): block was written past its end
 * cell_overrun_cheap.cc: a block is written past its end; with a trailer on every cell its own free sees it. */
#include "misuse.h"
#include "snug/cell_heap.h"

struct Trailers : snug::CellPolicy {
  using Trailer = snug::TrailerAlways;
};

int main() {
  alignas(16) static char memory[4096];
  snug::CellHeap<Trailers> heap;
  heap.add_region(memory, sizeof memory);
  void* const block = heap.allocate(32);
  announce(block);
  memset(hidden(block), 0x55, 33);
  heap.deallocate(block);
  return 0;
}
