// server: each thread replaces random blocks of its set, then hands the set on to a new thread and dies, as a server's
// connections outlive its workers. Stresses remote frees, thread birth and death, adoption. Resembles larson (Larson &
// Krishnan, "Memory Allocation for Long-Running Server Applications").
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kBlocks = 1000;  // of each thread
constexpr size_t kSmallest = 8;
constexpr size_t kLargest = 1000;

struct Held {
  void* block;
  size_t size;
};

size_t draw(Random& random, const Options& options) {
  return options.size != 0 ? options.size : random.between(kSmallest, kLargest);
}

// One worker's life.
void serve(Held* set, size_t steps, uint64_t seed, const Options& options) {
  Random random(seed);
  Sampler sampler(options.verify);
  for (size_t i = 0; i < steps; ++i) {
    Held& held = set[random.below(kBlocks)];
    sampler.give(held.block, held.size);
    held.size = draw(random, options);
    held.block = take(held.size);
  }
}

double run(const Options& options, uint64_t seed) {
  Array<Held> sets(kBlocks * options.threads);
  Random random(seed);
  for (Held& held : sets) {
    held.size = draw(random, options);
    held.block = take(held.size);
  }
  const size_t generations = 20;
  const size_t steps = scaled(options, 200'000);
  const double ns = run_threads(options.threads, [&](unsigned t) {
    for (size_t g = 0; g < generations; ++g) {
      // A generation's first frees are of a dead thread's blocks.
      std::thread([&] { serve(&sets[kBlocks * t], steps, seed * 1000 + g * options.threads + t, options); }).join();
    }
  });
  for (const Held& held : sets) std::free(held.block);
  return static_cast<double>(generations * steps * options.threads) / ns * 1e3;
}

}  // namespace

const Program kProgram = {
    .name = "server",
    .what =
        R"(Each thread replaces random blocks of its set of 1000, then hands the set on to a new thread and dies, twenty
times over. Shows remote frees, thread birth and death, and adoption of what dead threads leave.)",
    .figures = "replacements: millions a second over all threads; rss: KiB at the end.",
    .sizes = "8 to 1000, uniform",
    .threads = "threads at a time",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  report.measure("replacements", "M/s", [&](uint64_t seed) { return run(options, seed); });
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
}

}  // namespace workload
