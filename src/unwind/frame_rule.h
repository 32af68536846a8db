// How a call's frame is left: where the caller's registers are found, without frame pointers. Nothing is allocated, no
// file is read, and no lock is taken. Any thread may ask, in a signal handler too, but under no shared lock, as a
// system call may be made for code without tables.
//
// What compilers write is understood: a frame's end at a fixed distance from the stack pointer or the frame pointer, or
// stored in the frame, as where that is aligned. The frame of a signal handler is not. Of AArch64, where compilers keep
// frame pointers, of musl, and of glibc before 2.35 nothing is known: there each call has kByFramePointer.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug::unwind {

// The frame's end is the stack pointer's value in the caller, just above the return address.
struct FrameRule {
  enum class End : uint8_t {
    kUnknown,
    kFromStackPointer,
    kFromFramePointer,
    kStored,     // at an offset from the frame pointer; at which itself the caller's frame pointer is
    kOutermost,  // there is no caller
  };
  End end = End::kUnknown;
  int32_t end_offset = 0;    // from the register that `end` names, or to where the end is stored
  int32_t saved_offset = 0;  // from the frame's end to the caller's frame pointer; 0: it is in its register still
};

// That of a function which keeps its frame pointer.
inline constexpr FrameRule kByFramePointer{FrameRule::End::kFromFramePointer, 16, -16};

// `call` is an address in the call, as its last byte. By the tables of its module: unknown if these tell it in a way
// that is not understood. Of code that has none, as a JIT compiler's, by the instructions behind the call if they leave
// the frame, as in the trampolines of CPython's, and else by the frame pointer; unknown if no memory can be read there.
FrameRule find_frame_rule(uintptr_t call);

}  // namespace snug::unwind
