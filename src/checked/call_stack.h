// CallStack: who made a call, and from where: return addresses, found by frame pointers. One that comes again, as in a
// recursion, is there once, with how often: what calls itself from two places would else have as many stacks as there
// are orders of the two.
//
//   frame of the callee           frame of its caller
//     | saved rbp | return |  …     | saved rbp | return |  …
//           |                         ^
//           +-------------------------+
//
// A function without a frame pointer may leave anything in the register. So a frame is read only where the stack goes
// on without a gap from the calling function's frame, or the kernel says that its page can be read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

struct CallStack {
  static constexpr size_t kMost = 16;

  uint32_t thread = 0;           // as the OS knows it
  uint32_t count = 0;            // of frames
  uintptr_t frames[kMost] = {};  // each the last byte of a call, the innermost first; and above it how often it is
                                 // there again

  // How often a frame is there, and its address.
  static uint64_t times(uintptr_t frame) { return (frame >> kAddressBits) + 1; }
  static uintptr_t address(uintptr_t frame) { return frame & (kAgain - 1); }
  // One more, outside of the others. There are fewer than kMost.
  void add(uintptr_t address);

  // That of the function whose frame address is given, without itself: it has been compiled with frame pointers. Any
  // thread, in signal handlers too. Under no shared lock: it may make system calls.
  void take(const void* frame);

  // Lines on standard error: who did it, and a line for each frame; none by thread 0. `what` is as in "allocated by".
  void write(const char* what) const;

 private:
  static constexpr unsigned kAddressBits = 48;
  static constexpr uintptr_t kAgain = uintptr_t{1} << kAddressBits;
};

// The kernel's number of the calling thread.
uint32_t calling_thread();
// In the child of a fork, whose thread has another number.
void forget_calling_thread();

}  // namespace snug
