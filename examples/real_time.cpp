// A cell heap for real-time threads: its memory is backed from the start, and its lock lends the waiter's priority.
#include <cstdio>

#include "snug/cell/locked_cell_heap.h"
#include "snug/cell/real_time_region.h"

int main() {
  snug::RealTimeRegion region(1 << 20);
  if (!region.is_locked()) std::puts("not locked: the kernel might take pages away (ulimit -l)");
  snug::LockedCellHeap<> heap;
  if (const char* const refused = heap.add_region(region.start(), region.bytes())) return std::puts(refused), 1;
  void* const block = heap.allocate(100);
  heap.deallocate(block);
  return block != nullptr && heap.check() == nullptr ? 0 : 1;
}
