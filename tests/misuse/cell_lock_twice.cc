/* EXPECT abort: snug: LockedCellHeap\({address}\): the thread that is in the heap calls it again
 * cell_lock_twice.cc: a signal handler uses the locked heap that its own thread is in. */
#include <csignal>

#include "misuse.h"
#include "snug/cell/locked_cell_heap.h"

static snug::LockedCellHeap<>* heap;

int main() {
  alignas(16) static char memory[4096];
  static snug::LockedCellHeap<> locked;
  heap = &locked;
  announce(heap);
  locked.add_region(memory, sizeof memory);
  std::signal(SIGUSR1, [](int) { heap->deallocate(heap->allocate(10)); });
  locked.deallocate(locked.allocate(10));
  std::raise(SIGUSR1);  // nobody is in the heap: all is well
  locked.walk([](const snug::CellView&) { std::raise(SIGUSR1); });
  return 0;
}
