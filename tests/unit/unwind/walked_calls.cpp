#include "unwind/walked_calls.h"

#include <alloca.h>

#include <cstdlib>
#include <cstring>

namespace snug::walked {
namespace {

using Function = int(const Calls&);

// What the compiler cannot do without, so that the function has the frame that it seems to have.
void keep(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

[[gnu::noinline]] int plain(const Calls& calls) { return call_next(calls) + 1; }

// Pushes registers, and moves the stack pointer by more than a page.
[[gnu::noinline]] int large_frame(const Calls& calls) {
  char room[20000];
  keep(room);
  const int result = call_next(calls);
  keep(room);
  return result + 1;
}

[[gnu::noinline]] int of_varying_size(const Calls& calls) {
  void* const room = alloca(16 * (calls.left % 7 + 1));
  keep(room);
  const int result = call_next(calls);
  keep(room);
  return result + 1;
}

[[gnu::noinline]] int aligned(const Calls& calls) {
  alignas(64) char room[64];
  keep(room);
  const int result = call_next(calls);
  keep(room);
  return result + 1;
}

// Finds its frame by a third register, which it stores, since it aligns the frame and takes memory besides.
[[gnu::noinline]] int realigned(const Calls& calls) {
  alignas(64) char room[64];
  void* const more = alloca(16 * (calls.left % 7 + 1));
  keep(room);
  keep(more);
  const int result = call_next(calls);
  keep(room);
  keep(more);
  return result + 1;
}

// The frame pointer's register holds something else during the call.
[[gnu::noinline]] int with_its_register_taken(const Calls& calls) {
  uintptr_t a = calls.left, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  const int result = call_next(calls);
  asm volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
  return result + static_cast<int>(a + b + c + d + e + f);
}

// Its parameters lie in the caller's frame, which pushes them.
[[gnu::noinline]] int of_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, const Calls* calls) {
  return call_next(*calls) + a + b + c + d + e + f + g + h + i;
}
[[gnu::noinline]] int pushing(const Calls& calls) { return of_many(1, 2, 3, 4, 5, 6, 7, 8, 9, &calls) + 1; }

[[gnu::noinline]] int throwing(const Calls& calls) {
  try {
    if (calls.kinds != nullptr) throw calls.left;
  } catch (std::size_t) {
    return call_next(calls) + 1;
  }
  return 0;
}

// Through a function of libc's.
const Calls* for_the_comparison = nullptr;
int compare(const void*, const void*) {
  const Calls* const calls = for_the_comparison;
  for_the_comparison = nullptr;
  if (calls != nullptr) call_next(*calls);
  return 0;
}
[[gnu::noinline]] int through_libc(const Calls& calls) {
  int numbers[2] = {2, 1};
  for_the_comparison = &calls;
  std::qsort(numbers, 2, sizeof numbers[0], compare);
  return numbers[0];
}

[[gnu::noinline]] int with_a_frame_pointer(const Calls& calls) {
  keep(__builtin_frame_address(0));
  return call_next(calls) + 1;
}

constexpr Function* kFunctions[] = {
    plain,    large_frame,  of_varying_size,      aligned,  with_its_register_taken, pushing,
    throwing, through_libc, with_a_frame_pointer, realigned};
static_assert(sizeof kFunctions / sizeof kFunctions[0] == kKinds);

}  // namespace

int call_next(const Calls& calls) {
  if (calls.left == 0) {
    calls.at_the_end();
    return 1;
  }
  return kFunctions[*calls.kinds]({calls.kinds + 1, calls.left - 1, calls.at_the_end}) + 1;
}

}  // namespace snug::walked
