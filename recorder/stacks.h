// Stacks: the call stack of each allocation, recorded if `snug record` asks for it.
//
// The stack is unwound by the tables that every program has for exceptions, so that no frame pointers are needed: by
// libunwind where it is installed, as heaptrack does, which caches its look-ups; otherwise by libgcc, as glibc's
// backtrace() does, which takes several times as long. A stack is recorded once, with its key, a hash of 64 bits of its
// addresses, and from then on only by the key. So are the files in which the addresses lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/recording.h"

namespace snug::recorder {

// True if allocations have stacks: not before the dynamic linker is done, since this loads libraries.
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
