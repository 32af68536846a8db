// real_time_step: the worst case of malloc and free in a thread with deadlines (snug/realtime.h), in instructions,
// searched for as cell_step searches: the subject is snug_malloc and snug_free of libsnug.a.
//
//   real_time_step [--programs N] [--max MALLOC FREE SEND DEFER]
//
// A program's steps allocate and free in an announced thread, or have another thread free: the blocks that this sends
// come home with the allocations that follow. The last call is single-stepped: a malloc, a free by the thread itself, a
// send, or a free of an ordinary block, which is left to other threads. With --max, exit status 1 if a count is above
// its bound, or a system call was made; 2 if the counting itself failed.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "instruction_stepper.h"
#include "snug/heap.h"
#include "snug/realtime.h"
#include "snug/snug.h"
#include "step_program.h"

namespace snug::stepping {
namespace {

constexpr size_t kRegion = size_t{64} << 20;

enum Kind { kMalloc, kFree, kSend, kDefer, kKinds };
constexpr const char* kNames[kKinds] = {"malloc", "free", "free by another thread", "free of an ordinary block"};

struct Count {
  uint64_t instructions = 0;
  uint64_t system_calls = 0;
  Kind kind = kKinds;
};

Count last_count(Kind kind) {
  const Sample& sample = sample_at(sample_count() - 1);
  return {sample.instructions, sample.system_calls, kind};
}

// Never inlined, nor changed for constant arguments: these are what is stepped.
auto* volatile subject_malloc = &snug_malloc;
auto* volatile subject_free = &snug_free;

// The other thread: frees what it is given, and counts that when it is asked to; makes ordinary blocks.
class Other {
 public:
  Other() : thread_([this] { work(); }) {}
  ~Other() {
    ask(kEnd);
    thread_.join();
  }
  void free(void* block, bool counts) {
    block_ = block;
    ask(counts ? kCountFree : kFreeOne);
  }
  void* make(size_t bytes) {
    bytes_ = bytes;
    ask(kMake);
    return block_;
  }

 private:
  enum Task { kNone, kFreeOne, kCountFree, kMake, kEnd };

  void ask(Task task) {
    task_ = task;
    while (task_ != kNone) std::this_thread::yield();
  }
  void work() {
    for (;;) {
      Task task;
      while ((task = task_) == kNone) std::this_thread::yield();
      if (task == kCountFree) arm(reinterpret_cast<const void*>(subject_free), "free", 1);
      if (task == kFreeOne || task == kCountFree) subject_free(block_);
      if (task == kMake) block_ = subject_malloc(bytes_);
      task_ = kNone;
      if (task == kEnd) return;
    }
  }

  std::atomic<Task> task_{kNone};
  void* block_ = nullptr;
  size_t bytes_ = 0;
  std::thread thread_;
};

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "real_time_step: %s\n", what);
  std::exit(2);
}

// Runs all but the last step, then counts that one. A block of an odd size is freed by the other thread.
Count measure(const Program& program, Other& other) {
  require(snug_realtime_enter(kRegion) == 0, "cannot enter");
  void* slots[kSlots] = {};
  Count count;
  for (size_t i = 0; i < program.size(); ++i) {
    void*& block = slots[program[i].slot];
    const size_t bytes = program[i].bytes;
    const bool last = i + 1 == program.size();
    if (block == nullptr) {
      if (last) arm(reinterpret_cast<const void*>(subject_malloc), "malloc", 1);
      block = subject_malloc(bytes);
      if (last) count = last_count(kMalloc);
      continue;
    }
    if (bytes % 2 != 0) {
      other.free(block, last);
      if (last) count = last_count(kSend);
    } else {
      if (last) arm(reinterpret_cast<const void*>(subject_free), "free", 1);
      subject_free(block);
      if (last) count = last_count(kFree);
    }
    block = nullptr;
  }
  require(snug_check(0) == nullptr, "a heap is broken");
  for (void* block : slots) subject_free(block);
  require(snug_realtime_leave() == 0, "cannot leave");
  return count;
}

// An ordinary block of the size, freed by an announced thread.
Count measure_deferred(size_t bytes, Other& other) {
  void* const block = other.make(bytes);
  require(snug_realtime_enter(kRegion) == 0, "cannot enter");
  arm(reinterpret_cast<const void*>(subject_free), "free", 1);
  subject_free(block);
  require(snug_realtime_leave() == 0, "cannot leave");
  return last_count(kDefer);
}

int run(size_t programs, const uint64_t* bounds) {
  require(snug_realtime_begin(kRegion) == 0, "cannot begin");
  require(snug_heap_create(nullptr) != nullptr, "no heap of one's own, of which free would ask");
  Other other;
  Random random{1};
  Worst<Count> worst[kKinds];
  uint64_t system_calls = 0;
  const auto consider = [&](const Program& program) {
    const Count count = measure(program, other);
    system_calls += count.system_calls;
    worst[count.kind].consider(count, program);
  };
  for (size_t i = 0; i < programs; ++i) {
    const uint32_t choice = random.below(4);
    const bool is_fresh = choice == kDefer || worst[choice].program.empty();
    consider(is_fresh ? fresh(random) : changed(worst[choice].program, random));
  }
  for (size_t bytes = 1; bytes <= size_t{256} << 10; bytes *= 2) {
    const Count count = measure_deferred(bytes, other);
    system_calls += count.system_calls;
    worst[kDefer].consider(count, {});
  }
  int status = 0;
  for (int kind = 0; kind != kKinds; ++kind) {
    const uint64_t most = worst[kind].count.instructions;
    std::printf("%s: %llu instructions at most\n", kNames[kind], static_cast<unsigned long long>(most));
    if (most <= bounds[kind]) continue;
    std::printf("real_time_step: %s is above its bound\n", kNames[kind]);
    status = 1;
  }
  std::printf("in %zu programs; %llu system calls\n", programs, static_cast<unsigned long long>(system_calls));
  return system_calls == 0 ? status : 1;
}

}  // namespace
}  // namespace snug::stepping

int main(int argc, char** argv) {
  size_t programs = 4000;
  uint64_t bounds[4] = {~0ull, ~0ull, ~0ull, ~0ull};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--programs" && i + 1 < argc) {
      programs = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--max" && i + 4 < argc) {
      for (uint64_t& bound : bounds) bound = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: real_time_step [--programs N (at most 16000)] [--max MALLOC FREE SEND DEFER]\n");
      return 2;
    }
  }
  if (programs == 0 || programs > 16000) {
    std::fprintf(stderr, "real_time_step: --programs is 1 to 16000\n");
    return 2;
  }
  snug::stepping::install_stepper();
  return snug::stepping::run(programs, bounds);
}
