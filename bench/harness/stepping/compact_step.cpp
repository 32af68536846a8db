// compact_step: the worst case of a compacting heap's operations, in instructions, searched for.
//
//   compact_step [--programs N] [--max ALLOC FREE MOVE DEREF]
//
// A heap of one thread in a region of 4 MiB, all of it touched before, with one page that is not full a class (kappa =
// 1), so that a free moves a block whenever it opens a second one. A state of it is made by a program of operations;
// then one call more is single-stepped: an allocation, a free that moves nothing, a free that moves a block, a
// dereference. The search keeps the worst program of each (step_program.h). A step of a program stands for up to 64
// blocks of its size, so that pages fill. Copying counts as what the machine's memcpy is made of. With --max, exit
// status 1 if a count is above its bound, or a call has entered the kernel; 2 if the counting itself failed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "instruction_stepper.h"
#include "snug/compact_heap_c.h"
#include "step_program.h"

namespace snug::stepping {
namespace {

constexpr size_t kRegion = size_t{4} << 20;

enum Kind { kAlloc, kFree, kMove, kDeref, kKinds };
constexpr const char* kNames[] = {"alloc", "free", "free with a move", "deref"};

struct Count {
  uint64_t instructions = 0;
  uint64_t system_calls = 0;
};

// Never inlined, nor changed for constant arguments: these are what is stepped.
auto* volatile subject_alloc = &snug_compact_alloc;
auto* volatile subject_free = &snug_compact_free;
auto* volatile subject_deref = &snug_compact_deref;

Count last_count() {
  const Sample& sample = sample_at(sample_count() - 1);
  return {sample.instructions, sample.system_calls};
}

uint64_t moves_of(snug_compact_heap* heap) {
  snug_compact_stats stats;
  snug_compact_get_stats(heap, &stats);
  return stats.moves;
}

// How many blocks a step's size stands for.
size_t blocks_of(const Step& step) { return step.bytes > 40000 ? 1 : 1 + (step.bytes * 31 + step.slot) % 64; }

class Subject {
 public:
  Subject() {
    static std::vector<char> region(kRegion);
    snug_compact_options options{};
    options.region = region.data();
    options.region_bytes = region.size();
    heap_ = snug_compact_create(&options);
    if (heap_ == nullptr) std::exit(2);
  }
  ~Subject() {
    if (const char* const broken = snug_compact_check(heap_)) {
      std::fprintf(stderr, "compact_step: %s\n", broken);
      std::exit(2);
    }
    snug_compact_destroy(heap_);
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // Fills the slot, or frees every other block of it, and then the rest.
  void run(const Step& step) {
    std::vector<snug_handle>& blocks = slots_[step.slot];
    if (blocks.empty()) {
      for (size_t i = 0; i < blocks_of(step); ++i)
        if (const snug_handle handle = snug_compact_alloc(heap_, step.bytes, 0); handle != 0) blocks.push_back(handle);
      return;
    }
    std::vector<snug_handle> kept;
    for (size_t i = 0; i < blocks.size(); ++i)
      if (i % 2 == 0)
        snug_compact_free(heap_, blocks[i]);
      else
        kept.push_back(blocks[i]);
    blocks = kept;
  }
  Kind count(const Step& step, bool looks, Count& count) {
    std::vector<snug_handle>& blocks = slots_[step.slot];
    if (blocks.empty()) {
      arm(reinterpret_cast<const void*>(subject_alloc), "alloc", 1);
      subject_alloc(heap_, step.bytes, 0);
      count = last_count();
      return kAlloc;
    }
    const snug_handle handle = blocks[step.bytes % blocks.size()];
    if (looks) {
      arm(reinterpret_cast<const void*>(subject_deref), "deref", 1);
      subject_deref(heap_, handle);
      count = last_count();
      return kDeref;
    }
    const uint64_t before = moves_of(heap_);
    arm(reinterpret_cast<const void*>(subject_free), "free", 1);
    subject_free(heap_, handle);
    count = last_count();
    return moves_of(heap_) == before ? kFree : kMove;
  }

 private:
  snug_compact_heap* heap_ = nullptr;
  std::vector<snug_handle> slots_[kSlots];
};

struct Search {
  Worst<Count> worst[kKinds];
  uint64_t system_calls = 0;

  void consider(const Program& program, bool looks) {
    Subject subject;
    for (size_t i = 0; i + 1 < program.size(); ++i) subject.run(program[i]);
    Count count;
    const Kind kind = subject.count(program.back(), looks, count);
    system_calls += count.system_calls;
    worst[kind].consider(count, program);
  }
  void run(size_t programs) {
    Random random{1};
    for (size_t i = 0; i < programs; ++i) {
      const uint32_t choice = random.below(kKinds + 1);
      const bool is_fresh = choice == kKinds || worst[choice].program.empty();
      consider(is_fresh ? fresh(random) : changed(worst[choice].program, random), choice == kDeref);
    }
  }
};

int run(size_t programs, const unsigned long long* bounds) {
  Search search;
  search.run(programs);
  int status = 0;
  for (int kind = 0; kind < kKinds; ++kind) {
    const Worst<Count>& worst = search.worst[kind];
    std::printf("%s: %llu instructions at most, %u bytes\n", kNames[kind],
                static_cast<unsigned long long>(worst.count.instructions),
                worst.program.empty() ? 0 : worst.program.back().bytes);
    if (worst.count.instructions <= bounds[kind]) continue;
    std::printf("compact_step: %s is above its bound\n", kNames[kind]);
    status = 1;
  }
  std::printf("%zu programs, %llu system calls\n", programs, static_cast<unsigned long long>(search.system_calls));
  if (search.system_calls != 0) {
    std::printf("compact_step: the heap enters the kernel\n");
    status = 1;
  }
  return status;
}

}  // namespace
}  // namespace snug::stepping

int main(int argc, char** argv) {
  size_t programs = 4000;
  unsigned long long bounds[snug::stepping::kKinds] = {~0ull, ~0ull, ~0ull, ~0ull};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--programs" && i + 1 < argc) {
      programs = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--max" && i + snug::stepping::kKinds < argc) {
      for (unsigned long long& bound : bounds) bound = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: compact_step [--programs N (at most 16000)] [--max ALLOC FREE MOVE DEREF]\n");
      return 2;
    }
  }
  if (programs == 0 || programs > 16000) {
    std::fprintf(stderr, "compact_step: --programs is 1 to 16000\n");
    return 2;
  }
  snug::stepping::install_stepper();
  return snug::stepping::run(programs, bounds);
}
