// The loads on snug's heaps (snug/heap.h).
#include <snug/heap.h>

#include "loads.h"

namespace {

class SnugHeap {
 public:
  static constexpr heaps::Ending kEnds = heaps::Ending::kAtOnce;
  static constexpr heaps::Sharing kSharing = heaps::Sharing::kFree;
  static constexpr size_t kMostHeaps = SIZE_MAX;

  SnugHeap() : heap_(snug_heap_create(nullptr)) {
    if (heap_ == nullptr) workload::fail("snug_heap_create");
  }
  ~SnugHeap() { snug_heap_destroy(heap_); }
  SnugHeap(const SnugHeap&) = delete;
  SnugHeap& operator=(const SnugHeap&) = delete;
  void* allocate(size_t size) { return snug_heap_malloc(heap_, size); }
  void free(void* block, size_t) { snug_free(block); }

 private:
  snug_heap* heap_;
};

}  // namespace

namespace workload {
const Program kProgram = heaps::program_of("heaps_snug");
void measure_all(const Options& options, Report& report) { heaps::measure<SnugHeap>(options, report); }
}  // namespace workload
