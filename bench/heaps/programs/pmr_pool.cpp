// The loads on std::pmr::unsynchronized_pool_resource; threads that share one take a mutex. On glibc's malloc.
#include <memory_resource>

#include "loads.h"

namespace {

class PoolResource {
 public:
  static constexpr heaps::Ending kEnds = heaps::Ending::kAtOnce;
  static constexpr heaps::Sharing kSharing = heaps::Sharing::kWithLock;
  static constexpr size_t kMostHeaps = SIZE_MAX;

  void* allocate(size_t size) { return resource_.allocate(size); }
  void free(void* block, size_t size) { resource_.deallocate(block, size); }

 private:
  std::pmr::unsynchronized_pool_resource resource_;
};

}  // namespace

namespace workload {
const Program kProgram = heaps::program_of("heaps_pmr_pool");
void measure_all(const Options& options, Report& report) { heaps::measure<PoolResource>(options, report); }
}  // namespace workload
