/* EXPECT abort: snug: LockedCellHeap\({address}\): its lock was written over, or is held in another process
 * cell_lock_overwritten.cc: a heap's lock is written over, which is no call from within. */
#include "misuse.h"
#include "snug/cell/locked_cell_heap.h"

int main() {
  static snug::LockedCellHeap<> heap;
  announce(&heap);
  memset(hidden(&heap), 0xff, sizeof(pthread_mutex_t));
  heap.allocate(10);
  return 0;
}
