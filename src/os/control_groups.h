// The control groups that a process is in, as the kernel shows them in files: those of a container, for example. Leaves
// errno alone; needs some KiB of stack, and no memory.
#pragma once

#include <stddef.h>

namespace snug::os {

enum class GroupVersion { kOne, kTwo };

// Of a group that controls memory: the folder with its files, without a slash at the end.
struct MemoryGroup {
  GroupVersion version;
  const char* folder;
};

// Calls visit(context, group) for the process's group and each that encloses it, innermost first. `groups` is a file as
// /proc/PID/cgroup, `mount` the folder in which groups are found. A path that does not exist belongs to another
// namespace: those of its enclosing groups that exist count. With no such file it visits the root group, as in a
// namespace of the process's own.
void for_each_memory_group(const char* groups, const char* mount, void (*visit)(void* context, const MemoryGroup&),
                           void* context);

// The number in a file of the group; SIZE_MAX if the file contains a word, "max" for instance, or does not exist.
size_t number_of_group(const MemoryGroup& group, const char* file);

// False if the file is there and the kernel does not let it be read now, for want of descriptors for example.
bool can_be_read(const MemoryGroup& group, const char* file);

// The sum of the numbers that follow such words at the starts of lines of memory.stat; `words` ends with null.
size_t sum_of_statistics(const MemoryGroup& group, const char* const* words);

}  // namespace snug::os
