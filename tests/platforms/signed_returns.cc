// Functions that sign their return addresses, by their places on the stack: one call, made from two depths, is one
// address to those that walk the stack. Compiled with -mbranch-protection=standard.
#include <stdint.h>
#include <stdio.h>

#include "unwind/stack_walk.h"

namespace {

struct Seen {
  uintptr_t stored;
  uintptr_t call;
};

[[gnu::noinline]] Seen see_caller() {
  const void* const frame = __builtin_frame_address(0);
  return {static_cast<const uintptr_t*>(frame)[1], snug::unwind::registers_of_caller(frame).call};
}

// Not at its end, or it would be a jump.
template <class Result, class Call>
[[gnu::always_inline]] inline Result call_within(Call call) {
  const Result result = call();
  __asm__ volatile("");
  return result;
}
[[gnu::noinline]] Seen one_call() { return call_within<Seen>(see_caller); }
[[gnu::noinline]] Seen from_deeper() {
  volatile char room[512];
  room[0] = 0;
  return call_within<Seen>(one_call);
}

}  // namespace

int main() {
  const Seen near = one_call();
  const Seen deeper = from_deeper();
  if (near.stored == deeper.stored) return puts("not signed") < 0;
  return puts(near.call == deeper.call ? "one call" : "two calls") < 0;
}
