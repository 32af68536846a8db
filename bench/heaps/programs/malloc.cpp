// The loads without heaps, on malloc and free of glibc: each block is freed by itself. The reference.
#include "loads.h"

namespace {

class NoHeap {
 public:
  static constexpr heaps::Ending kEnds = heaps::Ending::kBlockByBlock;
  static constexpr heaps::Sharing kSharing = heaps::Sharing::kFree;
  static constexpr size_t kMostHeaps = SIZE_MAX;

  void* allocate(size_t size) { return std::malloc(size); }
  void free(void* block, size_t) { std::free(block); }
};

}  // namespace

namespace workload {
const Program kProgram = heaps::program_of("heaps_malloc");
void measure_all(const Options& options, Report& report) { heaps::measure<NoHeap>(options, report); }
}  // namespace workload
