// The C interface of limits on memory (include/snug/limits.h).
#include "snug/limits.h"

#include <errno.h>
#include <stddef.h>

#include "allocator/allocator.h"
#include "base/compiler.h"
#include "c_interface/c_functions.h"

using namespace snug;

namespace {

uint64_t shown(size_t limit) { return limit == SIZE_MAX ? 0 : limit; }

}  // namespace

extern "C" {

SNUG_EXPORT int snug_on_pressure(snug_pressure_callback callback, void* argument, unsigned levels) {
  return answer(allocator.pressure.watch(callback, argument, levels));
}

SNUG_EXPORT int snug_get_limits(struct snug_limits* limits) {
  const uint64_t size = limits->size;
  if (size < sizeof(*limits)) return EINVAL;
  allocator.ensure_open();
  *limits = {};
  limits->size = size;
  limits->held = allocator.footprint.held();
  limits->limit = shown(allocator.footprint.limit());
  limits->soft_limit = shown(allocator.footprint.soft_limit().bytes());
  limits->asked = allocator.pressure.asked();
  limits->refused = allocator.pressure.refused();
  return 0;
}

}  // extern "C"
