// lifetimes: a fixed population of equal blocks; each step frees one at random and allocates another in its place.
// Stresses cache misses in free and refill order once the population leaves the caches. Resembles larson in one thread, and
// the "random" mode of many allocator tests.
#include "workload.h"

namespace workload {
namespace {

// ns per free + malloc.
double run(size_t population, size_t size, const Options& options, uint64_t seed) {
  Random random(seed);
  Array<void*> blocks(population);
  for (void*& block : blocks) block = take(size);
  Sampler sampler(options.verify);
  const auto replace = [&](size_t steps) {
    for (size_t i = 0; i < steps; ++i) {
      void*& block = blocks[random.below(population)];
      sampler.give(block, size);
      block = take(size);
    }
  };
  replace(population);  // until age and address have nothing to do with each other
  const size_t steps = scaled(options, 2'000'000);
  const double start = now_ns();
  replace(steps);
  const double ns = (now_ns() - start) / static_cast<double>(steps);
  for (void* block : blocks) sampler.give(block, size);
  return ns;
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("lifetimes", options);
  const std::vector<size_t> sizes = options.size != 0 ? std::vector<size_t>{options.size} : std::vector<size_t>{64, 256};
  for (const size_t population : {10'000, 200'000}) {
    for (const size_t size : sizes) {
      std::vector<double> rounds;
      for (unsigned r = 0; r < options.rounds; ++r) rounds.push_back(run(population, size, options, options.seed + r));
      report.add_median(std::to_string(population / 1000) + "k/" + std::to_string(size), rounds, "ns");
    }
  }
  report.print();
}
