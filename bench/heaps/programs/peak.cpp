// The peak of the resident set, as the kernel counts it for what exec began.
#include "loads.h"
#include "proc_field.h"

namespace heaps {

double peak_bytes() {
  const std::optional<size_t> kib = workload::proc_field_kib("/proc/self/status", "VmHWM:");
  if (!kib) workload::fail("no VmHWM in /proc/self/status");
  return static_cast<double>(*kib) * 1024;
}

}  // namespace heaps
