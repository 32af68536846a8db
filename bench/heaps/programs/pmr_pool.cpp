// The loads on std::pmr::unsynchronized_pool_resource; threads that share one take a mutex.
#include "on_resource.h"

namespace workload {
const Program kProgram = heaps::program_of("heaps_pmr_pool");
void measure_all(const Options& options, Report& report) {
  heaps::measure<heaps::OnResource<std::pmr::unsynchronized_pool_resource, heaps::Sharing::kWithLock>>(options, report);
}
}  // namespace workload
