// The loads on std::pmr::monotonic_buffer_resource, which frees nothing before its end. On glibc's malloc.
#include <memory_resource>

#include "loads.h"

namespace {

class Monotonic {
 public:
  static constexpr heaps::Ending kEnds = heaps::Ending::kAtOnce;
  static constexpr heaps::Sharing kSharing = heaps::Sharing::kNever;
  static constexpr size_t kMostHeaps = SIZE_MAX;

  void* allocate(size_t size) { return resource_.allocate(size); }
  void free(void* block, size_t size) { resource_.deallocate(block, size); }

 private:
  std::pmr::monotonic_buffer_resource resource_;
};

}  // namespace

namespace workload {
const Program kProgram = heaps::program_of("heaps_pmr_monotonic");
void measure_all(const Options& options, Report& report) { heaps::measure<Monotonic>(options, report); }
}  // namespace workload
