// Stacks: who called the allocator, told along with an allocation where `snug record` asks for it.
//
// The stack is unwound along the tables that every program brings for exceptions, which needs no frame pointers: by
// libunwind where it is installed, as heaptrack does, which remembers what it has looked up; otherwise by libgcc, as
// glibc's backtrace() does, which takes some times as long. It is told once, by its key, a hash of 64 bits of its
// addresses, and from then on by the key alone. So are the files that the addresses lie in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/recording.h"

namespace snug::recorder {

// Whether allocations have stacks from here on: not before the dynamic linker is done, since libraries are loaded.
extern constinit bool has_stacks;

// Like tell_aligned(), with the stack of the program's function that called this library. Leaves errno as it is.
void tell_with_stack(Operation operation, const void* block, std::uint64_t size, std::uint64_t alignment,
                     std::uint8_t refused);

inline void tell_allocation(Operation operation, const void* block, std::uint64_t size, std::uint64_t alignment,
                            std::uint8_t refused) {
  if (has_stacks) [[unlikely]]
    tell_with_stack(operation, block, size, alignment, refused);
  else
    tell_aligned(operation, block, size, alignment, refused);
}

}  // namespace snug::recorder
