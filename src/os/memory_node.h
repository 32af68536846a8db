// Which node of a NUMA machine memory lies on. Leaves errno as it was, as os/memory.h does.
#pragma once

#include <stddef.h>

namespace snug::os {

// 0 if the process may have memory of the node; else EINVAL, or why the kernel does not say (ENOSYS, EPERM).
int why_no_node(unsigned node);

// The OS pages of the range come from that node, also those that are backed by now. False if the kernel refuses.
bool bind_to_node(void* start, size_t bytes, unsigned node);
// From now on they come from where the process's memory does; what is backed stays.
void unbind_from_node(void* start, size_t bytes);

}  // namespace snug::os
