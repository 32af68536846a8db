// Which node of a NUMA machine memory lies on. Leaves errno as it was, as os/memory.h does.
#pragma once

#include <stddef.h>

namespace snug::os {

// 0 if the process may have memory of the node; else EINVAL, or why the kernel does not say (ENOSYS, EPERM). ENOSYS
// also where the kernel's pages are longer than snug's, so that a range has pages that are partly other memory's.
int why_no_node(unsigned node);

// The OS pages of the range come from that node. Those that are backed by now are moved there if `may_be_backed`: for
// that the kernel drains lists of each processor, some hundred microseconds. False if the kernel refuses, or cannot
// move them all; then the range is bound no more.
bool bind_to_node(void* start, size_t bytes, unsigned node, bool may_be_backed);
// From now on they come from where the process's memory does; what is backed stays. A process that has as many mappings
// as the kernel allows keeps the range bound.
void unbind_from_node(void* start, size_t bytes);

}  // namespace snug::os
