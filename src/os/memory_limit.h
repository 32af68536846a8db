// How much memory the process's control groups let it have, as those of a container: what takes more is ended.
#pragma once

#include <cstddef>

namespace snug::os {

// Bytes; SIZE_MAX if there is no limit. Reads files of the kernel's, one or two for each group that the process's lies
// in.
size_t memory_limit();

// The same where `groups` is a file as /proc/PID/cgroup, `mount` the folder in which they are to
// be found. Version 2 (memory.max) and version 1 (memory/memory.limit_in_bytes). SIZE_MAX if there is no limit. A path
// that is not there is that of another namespace: the limit of what lies nearest above counts.
size_t group_limit(const char* groups, const char* mount);

}  // namespace snug::os
