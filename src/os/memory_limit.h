// How much memory the OS lets the process have before it ends one: the machine's, or less in a container.
#pragma once

#include <cstddef>

namespace snug::os {

// Bytes; SIZE_MAX if nothing says. Reads files of the kernel's, a few for each group that the process's group lies in.
size_t memory_limit();

// Of that, what control groups allow: `groups` is what /proc/PID/cgroup says, `mount` the folder in which they are to
// be found. Version 2 (memory.max) and version 1 (memory/memory.limit_in_bytes). SIZE_MAX if there is no limit. A path
// that is not there is that of another namespace: the limit of what lies nearest above counts.
size_t group_limit(const char* groups, const char* mount);

}  // namespace snug::os
