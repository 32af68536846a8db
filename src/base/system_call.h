// The library's own system calls. All of them are made by one instruction in the library's own text: a seccomp filter,
// or a test, can tell them by their address from those of the program. None is a cancellation point, and none touches
// errno.
//
// Where libc does more than the bare call, the library calls libc: for threads and abort(), for example.
//
// A new call: docs/questions.md, "Where a change goes". The tests listed.* refuse a call that is not listed.
#pragma once

#include <errno.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/shared_holds.h"

namespace snug {

// Returns the kernel's answer: an error is the negative of its errno number. Any thread may call it. It is alone in its
// file so that a test can link another one in its place.
long call_kernel(long number, long first, long second, long third, long fourth, long fifth, long sixth);

SNUG_ALWAYS_INLINE long as_word(decltype(nullptr)) { return 0; }
template <class T>
SNUG_ALWAYS_INLINE long as_word(T* pointer) {
  return static_cast<long>(reinterpret_cast<uintptr_t>(pointer));
}
template <class Word>
SNUG_ALWAYS_INLINE long as_word(Word word) {
  return static_cast<long>(word);
}

// call_kernel() for up to six pointers and integers.
template <class First = long, class Second = long, class Third = long, class Fourth = long, class Fifth = long,
          class Sixth = long>
SNUG_ALWAYS_INLINE long system_call(long number, First first = 0, Second second = 0, Third third = 0, Fourth fourth = 0,
                                    Fifth fifth = 0, Sixth sixth = 0) {
  SharedHolds::expect_none(number);
  return call_kernel(number, as_word(first), as_word(second), as_word(third), as_word(fourth), as_word(fifth),
                     as_word(sixth));
}

// Repeats the call as long as a signal handler interrupts it before it has done anything (EINTR).
template <class... Arguments>
long persistent_system_call(long number, Arguments... arguments) {
  for (;;)
    if (const long answer = system_call(number, arguments...); answer != -EINTR) return answer;
}

}  // namespace snug
