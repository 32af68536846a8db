/* EXPECT abort: snug: CellHeap::deallocate\({address}\): block is already free
 * cell_free_twice_cancelled.cc: the thread that frees a cell twice is to be cancelled. It must end the process, not
 * itself at the message. */
#include <pthread.h>

#include "misuse.h"
#include "snug/cell/locked_cell_heap.h"

static snug::LockedCellHeap<> heap;

static void* free_twice(void* unused) {
  void* const block = heap.allocate(100);
  announce(block);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  pthread_cancel(pthread_self());
  heap.deallocate(block);
  heap.deallocate(hidden(block));
  return unused;
}

int main() {
  alignas(16) static char memory[4096];
  heap.add_region(memory, sizeof memory);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, free_twice, nullptr) != 0) return 99;
  pthread_join(thread, nullptr);
  return 0;
}
