// churn: blocks of mixed sizes, 16 B–16 KiB log-uniform, replaced at random. Stresses the whole class map at once,
// slabs that change hands between classes, and memory under mixed sizes. Resembles mimalloc-bench's
// sh6bench/glibc-simple mix.
#include "workload.h"

namespace workload {
namespace {

struct Held {
  void* block;
  size_t size;
};

double run(size_t population, const Options& options, uint64_t seed) {
  Random random(seed);
  Array<Held> held(population);
  Sampler sampler(options.verify);
  const auto fresh = [&]() -> Held {
    const size_t size = options.size != 0 ? options.size : random.log_between(16, 16384);
    return {take(size), size};
  };
  for (Held& h : held) h = fresh();
  const size_t steps = scaled(options, 1'000'000);
  double start = 0;
  for (size_t i = 0; i < steps + population; ++i) {
    if (i == population) start = now_ns();
    Held& h = held[random.below(population)];
    sampler.give(h.block, h.size);
    h = fresh();
  }
  const double ns = (now_ns() - start) / static_cast<double>(steps);
  for (const Held& h : held) sampler.give(h.block, h.size);
  return ns;
}

}  // namespace

const Program kProgram = {
    .name = "churn",
    .what =
        R"(Keeps N live blocks of mixed sizes and replaces one at random, over and over. Shows the whole class map at work
at once, slabs that change hands between classes, and memory under mixed sizes.)",
    .figures = "N for 1000 and 20000: ns for a free and a malloc; rss: KiB at the end.",
    .sizes = "mixed: 16 to 16384, log-uniform",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  for (const size_t population : {size_t{1'000}, size_t{20'000}}) {
    report.measure(std::to_string(population), "ns", [&](uint64_t seed) {
      return average_of_threads(options.threads, [&](unsigned t) { return run(population, options, seed * 100 + t); });
    });
  }
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
}

}  // namespace workload
