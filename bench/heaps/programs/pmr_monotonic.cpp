// The loads on std::pmr::monotonic_buffer_resource, which frees nothing before its end.
#include "on_resource.h"

namespace workload {
const Program kProgram = heaps::program_of("heaps_pmr_monotonic");
void measure_all(const Options& options, Report& report) {
  heaps::measure<heaps::OnResource<std::pmr::monotonic_buffer_resource, heaps::Sharing::kNever>>(options, report);
}
}  // namespace workload
