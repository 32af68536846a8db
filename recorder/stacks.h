// Stacks: who called the allocator, told along with an allocation where `snug record` asks for it.
//
// The stack is unwound by libgcc, as glibc's backtrace() does, along the tables that every program brings for
// exceptions: it needs no frame pointers, and neither locks nor memory. It is told once, by its key, a hash of 64 bits
// of its addresses, and from then on by the key alone. So are the files that the addresses lie in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/recording.h"

namespace snug::recorder {

// Whether allocations have stacks from here on: not before the dynamic linker is done, since libgcc has to be loaded.
extern constinit bool has_stacks;

// Like tell_aligned(), with the stack of the program's function that called this library.
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
