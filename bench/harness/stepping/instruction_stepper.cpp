#include "instruction_stepper.h"

#include <atomic>
#include <csignal>
#include <cstdlib>

#include <ucontext.h>

namespace snug::stepping {

namespace {

constexpr uint64_t kArmMagic = 0x736e7567'676f6c64;  // "snuggold"
constexpr greg_t kTrapFlag = 0x100;
// Between arm() and the callee lie the caller's argument set-up and perhaps a PLT entry.
constexpr unsigned kMostStepsToCallee = 300;

enum class Phase : uint8_t { kIdle, kApproaching, kInside };

struct Progress {
  Phase phase = Phase::kIdle;
  uint64_t callee = 0;
  const char* name = nullptr;
  uint64_t operations = 0;
  uint64_t steps = 0;
  uint64_t system_calls = 0;
  greg_t previous_rip = 0;
  greg_t stack_after = 0;
};

// Initial-exec in an executable: reading it allocates nothing.
thread_local Progress progress;

constexpr size_t kMostSamples = 16384;
Sample samples[kMostSamples];
std::atomic<size_t> next_sample{0};

void book() {
  const size_t index = next_sample.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMostSamples) std::abort();
  Sample& sample = samples[index];
  for (size_t i = 0; i + 1 < sizeof sample.name && progress.name[i] != '\0'; ++i) sample.name[i] = progress.name[i];
  sample.instructions = progress.steps;
  sample.operations = progress.operations;
  sample.system_calls = progress.system_calls;
}

// Whether the processor stands at the instruction that enters the kernel.
bool enters_kernel(const greg_t* registers) {
  const auto* const code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  return code[0] == 0x0f && code[1] == 0x05;
}

void begin(greg_t* registers) {
  if (static_cast<uint64_t>(registers[REG_RAX]) != kArmMagic) std::abort();  // a trap that is not ours
  progress.phase = Phase::kApproaching;
  progress.callee = static_cast<uint64_t>(registers[REG_RDI]);
  progress.name = reinterpret_cast<const char*>(registers[REG_RSI]);
  progress.operations = static_cast<uint64_t>(registers[REG_RDX]);
  progress.steps = 0;
  registers[REG_EFL] |= kTrapFlag;
}

void approach(greg_t* registers) {
  if (static_cast<uint64_t>(registers[REG_RIP]) == progress.callee) {
    progress.phase = Phase::kInside;
    progress.stack_after = registers[REG_RSP] + 8;
    progress.previous_rip = registers[REG_RIP];
    progress.steps = 0;
    progress.system_calls = 0;
  } else if (++progress.steps > kMostStepsToCallee) {
    std::abort();  // the callee was not called after arm()
  }
}

void step(greg_t* registers) {
  // A rep-prefixed instruction traps after each repetition.
  if (registers[REG_RIP] != progress.previous_rip) ++progress.steps;
  progress.previous_rip = registers[REG_RIP];
  if (enters_kernel(registers)) ++progress.system_calls;
  // A callee that calls itself has a deeper stack when it returns to itself; tail calls keep the depth.
  if (registers[REG_RSP] != progress.stack_after) return;
  book();
  progress.phase = Phase::kIdle;
  registers[REG_EFL] &= ~kTrapFlag;
}

void on_trap(int, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  switch (progress.phase) {
    case Phase::kIdle:
      begin(registers);
      break;
    case Phase::kApproaching:
      approach(registers);
      break;
    case Phase::kInside:
      step(registers);
      break;
  }
}

}  // namespace

void install_stepper() {
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
}

void arm(const void* callee, const char* name, uint64_t operations) {
  asm volatile("int3" : : "a"(kArmMagic), "D"(callee), "S"(name), "d"(operations) : "memory");
}

size_t sample_count() { return next_sample.load(std::memory_order_relaxed); }

const Sample& sample_at(size_t index) { return samples[index]; }

}  // namespace snug::stepping
