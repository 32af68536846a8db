// How much memory the process's control groups, those of a container for example, allow: a process that takes more is
// killed.
#pragma once

#include <stddef.h>

namespace snug::os {

// Bytes; SIZE_MAX if there is no limit. Reads files of the kernel's, one or two for each group that encloses the
// process's.
size_t memory_limit();

// The same for a file `groups` like /proc/PID/cgroup, and the folder `mount` in which the groups are found. Version 2
// (memory.max) and version 1 (memory/memory.limit_in_bytes). SIZE_MAX if there is no limit. A path that does not exist
// belongs to another namespace: the limit of the nearest enclosing group counts.
size_t group_limit(const char* groups, const char* mount);

}  // namespace snug::os
