#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace snug::schedule {

namespace {
constexpr size_t kGuard = 4096;
}

Fiber::Fiber(size_t stack_bytes) : bytes_(stack_bytes + kGuard) {
  void* const mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED || ::mprotect(mapped, kGuard, PROT_NONE) != 0) std::abort();
  stack_ = static_cast<std::byte*>(mapped);
}

Fiber::~Fiber() {
  if (stack_ != nullptr) ::munmap(stack_, bytes_);
}

#if defined(__x86_64__)

// Saves what a called function must keep, swaps the stacks and restores the same of the other: a system call for the
// signal mask, as swapcontext() makes, would cost more than all else that a run does.
extern "C" void snug_schedule_switch(void** save_top, void* load_top);
extern "C" void snug_schedule_enter();
__asm__(R"(
  .text
  .type snug_schedule_switch, @function
snug_schedule_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size snug_schedule_switch, . - snug_schedule_switch
  .type snug_schedule_enter, @function
snug_schedule_enter:
  movq %r13, %rdi
  callq *%r12
  ud2
  .size snug_schedule_enter, . - snug_schedule_enter
)");

void Fiber::restart(Entry entry, void* argument) {
  // As snug_schedule_switch leaves a stack: r15, r14, r13, r12, rbx, rbp, where to return to; and two words, so that
  // the stack is aligned at the call.
  auto* const frame = reinterpret_cast<uintptr_t*>(stack_ + bytes_) - 9;
  frame[0] = frame[1] = frame[4] = frame[5] = frame[7] = frame[8] = 0;
  frame[2] = reinterpret_cast<uintptr_t>(argument);
  frame[3] = reinterpret_cast<uintptr_t>(entry);
  frame[6] = reinterpret_cast<uintptr_t>(&snug_schedule_enter);
  top_ = frame;
}

void Fiber::switch_between(Fiber& from, Fiber& to) { snug_schedule_switch(&from.top_, to.top_); }

#else

// makecontext() hands over ints alone.
void Fiber::start(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Fiber*>(uintptr_t{high} << 32 | low);
  self->entry_(self->argument_);
}

void Fiber::restart(Entry entry, void* argument) {
  entry_ = entry;
  argument_ = argument;
  ::getcontext(&context_);
  context_.uc_stack.ss_sp = stack_ + kGuard;
  context_.uc_stack.ss_size = bytes_ - kGuard;
  context_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  ::makecontext(&context_, reinterpret_cast<void (*)()>(start), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
}

void Fiber::switch_between(Fiber& from, Fiber& to) { ::swapcontext(&from.context_, &to.context_); }

#endif

}  // namespace snug::schedule
