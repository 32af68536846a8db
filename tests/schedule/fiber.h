// Fiber: a stack of its own on which a test's thread runs, switched to by hand. All fibers of a program share one
// thread of the OS, so that only these switches decide which fiber runs, and each run can be repeated.
//
// What ran on a fiber is forgotten at restart() without being unwound: no destructor of its frames is called.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace snug::schedule {

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  // Without a stack: stands for the stack that the program itself runs on.
  Fiber() = default;
  // Maps `stack_bytes` (a multiple of the OS page) with a guard below. Ends the program if there is no memory.
  explicit Fiber(size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next switch to this fiber calls entry(argument), which must never return.
  void restart(Entry entry, void* argument);
  // Leaves off in `from`, which is what runs now, and goes on in `to`.
  static void switch_between(Fiber& from, Fiber& to);

 private:
  std::byte* stack_ = nullptr;  // with the guard
  size_t bytes_ = 0;
#if defined(__x86_64__)
  void* top_ = nullptr;  // of the stack, where it left off
#else
  static void start(unsigned high, unsigned low);

  ucontext_t context_{};
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
#endif
};

}  // namespace snug::schedule
