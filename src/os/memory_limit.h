// How much memory the process's control groups, those of a container for example, allow: a process that takes more is
// killed. All read files of the kernel's, some for each group that encloses the process's, and leave errno alone.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug::os {

// Bytes; SIZE_MAX if there is no limit.
size_t memory_limit();

// The same for a file `groups` like /proc/PID/cgroup, and the folder `mount` in which the groups are found. Version 2
// (memory.max) and version 1 (memory/memory.limit_in_bytes). SIZE_MAX if there is no limit.
size_t group_limit(const char* groups, const char* mount);

// How many bytes the groups may still take, beside what they hold and the kernel cannot have back without swap;
// SIZE_MAX where there is no limit. The least of all enclosing groups, with what other processes hold counted.
struct GroupRoom {
  size_t most = SIZE_MAX;  // before the kernel kills (memory.max)
  size_t high = SIZE_MAX;  // before it slows the group down (memory.high, version 2)
  bool is_known = true;    // false if a file is there and cannot be read now
};
GroupRoom group_room();
GroupRoom group_room(const char* groups, const char* mount);

// The bytes of the process that are in memory and belong to no file; SIZE_MAX if the kernel does not say.
size_t anonymous_memory();

// The part of the last ten seconds, in hundredths of a percent, for which some task of the process's group waited for
// memory (PSI); of the whole machine where the group says nothing, 0 where that does not either.
uint32_t memory_stall();
uint32_t memory_stall(const char* groups, const char* mount, const char* of_machine);

}  // namespace snug::os
