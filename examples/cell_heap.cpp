// A heap in an array of one's own, with a policy of one's own: bins of powers of two, and every block counted.
#include <cstdio>

#include "snug/cell_heap.h"

struct Counter : snug::NoTrace {
  int blocks = 0;
  void allocated(const void*, std::size_t) { ++blocks; }
  void freed(const void*, std::size_t) { --blocks; }
};

struct Policy : snug::CellPolicy {
  using Fit = snug::PowerOfTwoBins;
  using Trace = Counter;
};

alignas(16) static char memory[4096];

int main() {
  snug::CellHeap<Policy> heap;
  if (const char* const refused = heap.add_region(memory, sizeof memory)) return std::puts(refused), 1;
  void* const block = heap.allocate(100);
  void* const aligned = heap.allocate_aligned(256, 100);
  std::printf("%d blocks; %zu bytes usable of 100 asked, %zu free\n", heap.trace().blocks, heap.usable_size(block),
              heap.bytes_free());
  heap.deallocate(aligned);
  heap.deallocate(block);
  return heap.check() == nullptr && heap.trace().blocks == 0 ? 0 : 1;
}
