// cell_step: the worst case of the cell heap's malloc and free, in instructions, searched for.
//
//   cell_step [--programs N] [--max MALLOC FREE]
//
// A state of the heap is made by a program of operations; then one call more is single-stepped. The search keeps, for
// malloc and for free, the program with the longest last call, and tries changes of it beside fresh random ones:
// sizes from a small palette, so that bins hold several cells; levels near and far; fits exact, with a remainder, and
// with too little left for one; cells that merge with none, one or both neighbours, first, middle and last of their
// bins. The subject is libsnug_cell.a. Also counted: system calls, and the locked heap and one with a user's idle trace
// sink. With --max, exit status 1 if a count is above its bound; 2 if the counting itself failed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "instruction_stepper.h"
#include "snug/cell/locked_cell_heap.h"
#include "snug/cell_heap.h"
#include "snug/cell_heap_c.h"
#include "step_program.h"

namespace snug::stepping {
namespace {

constexpr size_t kRegion = size_t{1} << 30;
struct Count {
  uint64_t instructions = 0;
  uint64_t system_calls = 0;
  bool was_malloc = false;
};

void* region() {
  static void* const start =
      mmap(nullptr, kRegion, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) std::exit(2);
  return start;
}

Count last_count() {
  const Sample& sample = sample_at(sample_count() - 1);
  return {sample.instructions, sample.system_calls, false};
}

// Never inlined, nor changed for constant arguments: these are what is stepped.
auto* volatile subject_malloc = &snug_cell_malloc;
auto* volatile subject_free = &snug_cell_free;

// Runs all but the last step, then counts that one.
Count measure(const Program& program) {
  snug_cell_heap* const heap = snug_cell_heap_create(region(), kRegion);
  void* slots[kSlots] = {};
  Count count;
  for (size_t i = 0; i < program.size(); ++i) {
    void*& block = slots[program[i].slot];
    const bool last = i + 1 == program.size();
    if (block == nullptr) {
      if (last) arm(reinterpret_cast<const void*>(subject_malloc), "malloc", 1);
      block = subject_malloc(heap, program[i].bytes);
      if (last) count = last_count(), count.was_malloc = true;
    } else {
      if (last) arm(reinterpret_cast<const void*>(subject_free), "free", 1);
      subject_free(heap, block);
      block = nullptr;
      if (last) count = last_count();
    }
  }
  if (const char* const broken = snug_cell_check(heap)) {
    std::fprintf(stderr, "cell_step: %s\n", broken);
    std::exit(2);
  }
  return count;
}

struct Search {
  Worst<Count> malloc_worst, free_worst;
  uint64_t system_calls = 0;

  void consider(const Program& program) {
    const Count count = measure(program);
    system_calls += count.system_calls;
    Worst<Count>& worst = count.was_malloc ? malloc_worst : free_worst;
    worst.consider(count, program);
  }

  void run(size_t programs) {
    Random random{1};
    for (size_t i = 0; i < programs; ++i) {
      const uint32_t choice = random.below(3);
      const Program& base = choice == 0 ? malloc_worst.program : free_worst.program;
      consider(choice == 2 || base.empty() ? fresh(random) : changed(base, random));
    }
  }
};

// ---- other ways to call it --------------------------------------------------------------------------------------

struct IdleTrace : NoTrace {
  void allocated(const void*, size_t) {}
  void freed(const void*, size_t) {}
};
struct IdleTracePolicy : CellPolicy {
  using Trace = IdleTrace;
};

template <class Heap>
[[gnu::noinline]] void* call_allocate(Heap& heap, size_t bytes) {
  return heap.allocate(bytes);
}
template <class Heap>
[[gnu::noinline]] void call_free(Heap& heap, void* block) {
  heap.deallocate(block);
}

struct Pair {
  Count allocation, release;
};

template <class Heap>
Pair measure_pair() {
  auto* volatile allocate = &call_allocate<Heap>;
  auto* volatile release = &call_free<Heap>;
  Heap heap;
  if (heap.add_region(region(), kRegion) != nullptr) std::exit(2);
  for (int i = 0; i < 3; ++i) release(heap, allocate(heap, 100));  // the first call resolves symbols
  Pair pair;
  arm(reinterpret_cast<const void*>(allocate), "pair", 1);
  void* const block = allocate(heap, 100);
  pair.allocation = last_count();
  arm(reinterpret_cast<const void*>(release), "pair", 1);
  release(heap, block);
  pair.release = last_count();
  return pair;
}

int run(size_t programs, uint64_t malloc_bound, uint64_t free_bound) {
  Search search;
  search.run(programs);
  const uint64_t longest_malloc = search.malloc_worst.count.instructions;
  const uint64_t longest_free = search.free_worst.count.instructions;
  std::printf("malloc %llu instructions at most, free %llu, in %zu programs; %llu system calls\n",
              static_cast<unsigned long long>(longest_malloc), static_cast<unsigned long long>(longest_free), programs,
              static_cast<unsigned long long>(search.system_calls));
  const Pair plain = measure_pair<CellHeap<>>();
  const Pair traced = measure_pair<CellHeap<IdleTracePolicy>>();
  const Pair locked = measure_pair<LockedCellHeap<>>();
  const auto print = [](const char* what, const Pair& pair) {
    std::printf("%-28s %llu + %llu instructions, %llu system calls\n", what,
                static_cast<unsigned long long>(pair.allocation.instructions),
                static_cast<unsigned long long>(pair.release.instructions),
                static_cast<unsigned long long>(pair.allocation.system_calls + pair.release.system_calls));
  };
  print("plain pair of 100 bytes", plain);
  print("with an idle trace sink", traced);
  print("locked", locked);
  int status = 0;
  const auto require = [&status](bool holds, const char* what) {
    if (holds) return;
    std::printf("cell_step: %s\n", what);
    status = 1;
  };
  require(longest_malloc <= malloc_bound, "malloc is above its bound");
  require(longest_free <= free_bound, "free is above its bound");
  require(search.system_calls == 0, "the heap enters the kernel");
  require(traced.allocation.instructions <= plain.allocation.instructions &&
              traced.release.instructions <= plain.release.instructions,
          "an idle trace sink costs instructions");
  require(locked.allocation.system_calls + locked.release.system_calls == 0, "the lock enters the kernel unasked");
  return status;
}

}  // namespace
}  // namespace snug::stepping

int main(int argc, char** argv) {
  size_t programs = 4000;
  unsigned long long bounds[2] = {~0ull, ~0ull};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--programs" && i + 1 < argc) {
      programs = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--max" && i + 2 < argc) {
      for (unsigned long long& bound : bounds) bound = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: cell_step [--programs N (at most 16000)] [--max MALLOC FREE]\n");
      return 2;
    }
  }
  if (programs == 0 || programs > 16000) {
    std::fprintf(stderr, "cell_step: --programs is 1 to 16000\n");
    return 2;
  }
  snug::stepping::install_stepper();
  return snug::stepping::run(programs, bounds[0], bounds[1]);
}
