// Stacks: the call stack of each allocation, recorded if `snug record` asks for it.
//
// The recorder walks the stack by the tables that every program has for exceptions, so that no frame pointers are
// needed, and keeps what it has learnt of each call (unwind/stack_walk.h). A stack is recorded once, with its key, a
// hash of 64 bits of its addresses, and from then on only by the key. So are the files in which the addresses lie.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/recording.h"

namespace snug::recorder {

// True if allocations have stacks: not before constructors run, nor where modules are not known.
extern constinit bool has_stacks;

// How often the program has unmapped memory: what a walk has found to be readable holds until then.
extern std::atomic<std::uint64_t> unmappings;

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
