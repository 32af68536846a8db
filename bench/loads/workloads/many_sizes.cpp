// many_sizes: a population of every size from 8 B to 32 KiB, each thread with its own; after each phase the range of
// sizes moves on and most blocks of the old phase die. Threads hand a part of their blocks to the next one. Stresses
// reuse of memory between classes. Resembles rpmalloc's rptest.
#include "workload.h"

#include <barrier>

namespace workload {
namespace {

constexpr size_t kPopulation = 8192;  // of each thread
constexpr unsigned kPhases = 6;
// A phase draws from two ranges, most from the small one; phases differ in both.
constexpr size_t kRanges[kPhases][2] = {{16, 512}, {64, 8192}, {16, 1024}, {512, 32768}, {8, 256}, {128, 16384}};

struct Held {
  void* block;
  size_t size;
};

void replace(Held& held, size_t size, Sampler& sampler) {
  if (held.block != nullptr) sampler.give(held.block, held.size);
  held = {take(size), size};
}

double run(const Options& options, uint64_t seed) {
  Array<Held> all(kPopulation * options.threads);
  std::barrier phase_end(static_cast<std::ptrdiff_t>(options.threads));
  const size_t steps = scaled(options, 150'000);
  const double ns = run_threads(options.threads, [&](unsigned t) {
    Random random(seed + t);
    Sampler sampler(options.verify);
    for (unsigned phase = 0; phase < kPhases; ++phase) {
      // Each phase works on the next thread's blocks: the first free of each is remote.
      Held* const mine = &all[kPopulation * ((t + phase) % options.threads)];
      for (size_t i = 0; i < steps; ++i) {
        const size_t size = options.size != 0 ? options.size : random.log_between(kRanges[phase][0], kRanges[phase][1]);
        replace(mine[random.below(kPopulation)], size, sampler);
      }
      for (size_t i = 0; i < kPopulation; ++i) {
        if (i % 8 == 0 || mine[i].block == nullptr) continue;
        sampler.give(mine[i].block, mine[i].size);
        mine[i].block = nullptr;
      }
      phase_end.arrive_and_wait();
    }
  });
  for (const Held& held : all) std::free(held.block);
  return static_cast<double>(steps * kPhases * options.threads) / ns * 1e3;
}

}  // namespace

const Program kProgram = {
    .name = "many_sizes",
    .what =
        R"(Replaces random blocks among 8192 a thread, in six phases that each draw from another range of sizes between 8 B
and 32 KiB; after a phase most of its blocks die and the rest goes on to the next thread. Shows reuse of memory
between classes.)",
    .figures = "replacements: millions a second over all threads; rss: KiB at the end.",
    .sizes = "the six ranges, log-uniform",
    .threads = "threads",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  report.measure("replacements", "M/s", [&](uint64_t seed) { return run(options, seed); });
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
}

}  // namespace workload
