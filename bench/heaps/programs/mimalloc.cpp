// The loads on the heaps of mimalloc 3, which any thread may use.
#include "loads.h"

extern "C" {
void* mi_heap_new();
void mi_heap_destroy(void* heap);
void* mi_heap_malloc(void* heap, size_t size);
void mi_free(void* block);
}

namespace {

class MiHeap {
 public:
  static constexpr heaps::Ending kEnds = heaps::Ending::kAtOnce;
  static constexpr heaps::Sharing kSharing = heaps::Sharing::kFree;
  static constexpr size_t kMostHeaps = SIZE_MAX;

  MiHeap() : heap_(mi_heap_new()) {
    if (heap_ == nullptr) workload::fail("mi_heap_new");
  }
  ~MiHeap() { mi_heap_destroy(heap_); }
  MiHeap(const MiHeap&) = delete;
  MiHeap& operator=(const MiHeap&) = delete;
  void* allocate(size_t size) { return mi_heap_malloc(heap_, size); }
  void free(void* block, size_t) { mi_free(block); }

 private:
  void* heap_;
};

}  // namespace

namespace workload {
const Program kProgram = heaps::program_of("heaps_mimalloc");
void measure_all(const Options& options, Report& report) { heaps::measure<MiHeap>(options, report); }
}  // namespace workload
