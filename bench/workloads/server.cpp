// server: each thread replaces random blocks of its set, then hands the set on to a new thread and dies, as a server's
// connections outlive its workers. Stresses remote frees, thread birth and death, adoption. Resembles larson (Larson &
// Krishnan, "Memory Allocation for Long-Running Server Applications").
#include "workload.h"

#include <thread>

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
  std::vector<std::thread> chains;
  const double start = now_ns();
  for (unsigned t = 0; t < options.threads; ++t) {
    chains.emplace_back([&, t] {
      for (size_t g = 0; g < generations; ++g) {
        // A generation's first frees are of a dead thread's blocks.
        std::thread(serve, &sets[kBlocks * t], steps, seed * 1000 + g * options.threads + t, options).join();
      }
    });
  }
  for (std::thread& chain : chains) chain.join();
  const double seconds = (now_ns() - start) / 1e9;
  for (const Held& held : sets) std::free(held.block);
  return static_cast<double>(generations * steps * options.threads) / seconds / 1e6;
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  Options defaults;
  defaults.threads = 2;
  const Options options = parse_options(argc, argv, defaults);
  Report report("server", options);
  std::vector<double> rounds;
  for (unsigned r = 0; r < options.rounds; ++r) rounds.push_back(run(options, options.seed + r));
  report.add_median("replacements", rounds, "M/s");
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
  report.print();
}
