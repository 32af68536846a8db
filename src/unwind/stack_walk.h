// The walk over the calling thread's stack, through code with frame pointers or without (unwind/frame_rule.h). Nothing
// is allocated and no lock is taken. Any thread may walk, in a signal handler too, but under no shared lock, as system
// calls may be made.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/return_address.h"
#include "unwind/frame_rule.h"
#include "unwind/readable_stack.h"

namespace snug::unwind {

// The registers of a caller, from which its own caller's are found.
struct Registers {
  uintptr_t call = 0;  // its last byte
  uintptr_t stack_pointer = 0;
  uintptr_t frame_pointer = 0;
};

// Why a walk went no further.
enum class WalkEnd : uint8_t {
  kNotYet,
  kOutermost,  // there is no caller, or what is read there is none
  kUnknown,    // nothing is known of a frame on the way
};

// Goes on to the caller.
SNUG_ALWAYS_INLINE WalkEnd step_out(FrameRule rule, ReadableStack& stack, Registers& registers) {
  constexpr uintptr_t kWord = sizeof(uintptr_t);
  using End = FrameRule::End;
  if (rule.end == End::kUnknown) return WalkEnd::kUnknown;
  if (rule.end == End::kOutermost) return WalkEnd::kOutermost;
  const auto offset = static_cast<uintptr_t>(intptr_t{rule.end_offset});
  uintptr_t end = (rule.end == End::kFromStackPointer ? registers.stack_pointer : registers.frame_pointer) + offset;
  uintptr_t saved = rule.saved_offset != 0 ? end + static_cast<uintptr_t>(intptr_t{rule.saved_offset}) : 0;
  if (rule.end == End::kStored) {
    if (!is_aligned(end, kWord) || !stack.can_read(end)) return WalkEnd::kOutermost;
    end = *at<const uintptr_t>(end);
    saved = registers.frame_pointer;
  }
  // Callers' frames lie above. A JIT compiler's are aligned to words alone.
  if (end <= registers.stack_pointer || !is_aligned(end, kWord) || !stack.can_read(end - kWord))
    return WalkEnd::kOutermost;
  if (saved != 0 && (!is_aligned(saved, kWord) || !stack.can_read(saved))) return WalkEnd::kOutermost;
  const uintptr_t after = return_address(*at<const uintptr_t>(end - kWord));
  if (after == 0) return WalkEnd::kOutermost;
  registers.call = after - 1;
  registers.stack_pointer = end;
  if (saved != 0) registers.frame_pointer = *at<const uintptr_t>(saved);
  return WalkEnd::kNotYet;
}

// The registers in the caller of the function with this frame address, which must be compiled with frame pointers.
inline Registers registers_of_caller(const void* frame) {
  const auto* const words = static_cast<const uintptr_t*>(frame);
  return {return_address(words[1]) - 1, address_of(words + 2), words[0]};
}

// How far a walk came.
struct Walked {
  uint32_t count = 0;
  WalkEnd end = WalkEnd::kNotYet;  // if it ended for want of room
};

// Writes up to `most` calls, each by its last byte, the innermost first: that of the caller of the function with this
// frame address, which must be compiled with frame pointers. `epoch`: as ReadableStack has it.
template <class Rules>
Walked walk_stack(const void* frame, uintptr_t* calls, size_t most, Rules& rules, uint64_t epoch) {
  ReadableStack stack(address_of(frame), epoch);
  Registers registers = registers_of_caller(frame);
  Walked walked;
  while (walked.count != most) {
    calls[walked.count++] = registers.call;
    walked.end = step_out(rules.rule_of(registers.call), stack, registers);
    if (walked.end != WalkEnd::kNotYet) break;
  }
  return walked;
}

}  // namespace snug::unwind
