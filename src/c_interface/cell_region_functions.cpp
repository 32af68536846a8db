// The C functions of snug/cell_heap_c.h for memory that does not fault.
#include <errno.h>

#include "base/compiler.h"
#include "cell/real_time_memory.h"
#include "snug/cell_heap_c.h"

extern "C" {

SNUG_EXPORT int snug_cell_region_map(snug_cell_region* region, size_t bytes) {
  const snug::RealTimeMemory memory = snug::map_real_time(bytes);
  *region = {memory.start, memory.bytes, memory.locked ? 1 : 0};
  if (memory.start != nullptr) return 0;
  errno = bytes == 0 ? EINVAL : ENOMEM;
  return -1;
}

SNUG_EXPORT void snug_cell_region_unmap(snug_cell_region* region) {
  snug::unmap_real_time({region->start, region->bytes, region->locked != 0});
  *region = {nullptr, 0, 0};
}

}  // extern "C"
