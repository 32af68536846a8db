// CallStack: the thread that made a call, and the return addresses on its stack, found by frame pointers. An address
// that occurs again, as in a recursion, is stored once, with a count: a function that calls itself from two places
// would otherwise have as many stacks as there are orders of the two.
//
//   frame of the callee           frame of its caller
//     | saved rbp | return |  …     | saved rbp | return |  …
//           |                         ^
//           +-------------------------+
//
// A function without a frame pointer may leave anything in the register. So a frame is read only if it lies on pages
// known to be stack, without a gap from the calling function's frame, or if the kernel says that its page is readable.
//
// Each allocation and free of a checked process takes one. The heap profile, which takes few, goes by the tables that
// modules have for exceptions too (unwind/stack_walk.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

struct CallStack {
  static constexpr size_t kMost = 16;

  uint32_t thread = 0;           // the OS's number of it
  uint32_t count = 0;            // of frames
  uintptr_t frames[kMost] = {};  // each the last byte of a call, the innermost first; above the address bits, how
                                 // often it occurs again

  // How often a frame occurs; and its address.
  static uint64_t times(uintptr_t frame) { return (frame >> kAddressBits) + 1; }
  static uintptr_t address(uintptr_t frame) { return frame & (kAgain - 1); }
  // Adds the next outer frame, by an address in the call; counts it if that is there already. There must be fewer than
  // kMost.
  void add(uintptr_t frame);

  // Takes the stack of callers of the function with this frame address, which must be compiled with frame pointers. Any
  // thread may call it, in signal handlers too, but under no shared lock, as it may make system calls.
  void take(const void* frame);

  // Writes lines to standard error: the thread, and a line for each frame; nothing for thread 0. `what` is "allocated
  // by", for example.
  void write(const char* what) const;

 private:
  static constexpr unsigned kAddressBits = 48;
  static constexpr uintptr_t kAgain = uintptr_t{1} << kAddressBits;
};

// The kernel's number of the calling thread. The first call in a thread makes a system call: under no shared lock.
uint32_t calling_thread();
// To be called in the child of a fork, where the thread has another number.
void forget_calling_thread();

}  // namespace snug
