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
// `*is_known`, if given, becomes false if the file is there and the kernel does not let it be read now, for want of
// descriptors for example.
size_t number_of_group(const MemoryGroup& group, const char* file, bool* is_known = nullptr);

// Reads memory.stat once: values[i] becomes the number that follows words[i] at the start of a line, 0 if none does.
// `*is_known` as above.
void read_statistics(const MemoryGroup& group, const char* const* words, size_t* values, size_t count, bool* is_known);

}  // namespace snug::os
