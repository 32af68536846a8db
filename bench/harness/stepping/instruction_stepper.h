// Counts the instructions of a call by single-stepping it with the processor's trap flag.
//
//   stepper.arm(callee, "malloc/64", 1);   // then call it: from the callee's first instruction to its return is
//   counted void* block = callee(64);
//
// arm() executes int3; its SIGTRAP handler sets the trap flag, and from then on runs after every instruction of this
// thread until the callee has returned. A tracing parent (ptrace) would count the same, but pays two context switches
// an instruction on top of the trap, which in a virtual machine is some 10 us by itself.
//
// A repeated string instruction counts once, a system call as the one instruction that enters the kernel. The handler
// allocates nothing and calls nothing. Every thread has its own state. Linux, x86-64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::stepping {

struct Sample {
  char name[48];
  uint64_t instructions;
  uint64_t operations;  // that the call stands for
  uint64_t system_calls;
};

// Once, before the first arm().
void install_stepper();
void arm(const void* callee, const char* name, uint64_t operations);

// All samples so far, of all threads that have finished theirs.
size_t sample_count();
const Sample& sample_at(size_t index);

}  // namespace snug::stepping
