// churn: blocks of mixed sizes, 16 B–16 KiB log-uniform, replaced at random. Stresses the whole class map at once,
// slabs that change hands between classes, and memory under mixed sizes. Resembles mimalloc-bench's
// sh6bench/glibc-simple mix.
#include "workload.h"

#include <thread>

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
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("churn", options);
  for (const size_t population : {1'000, 20'000}) {
    std::vector<double> rounds;
    for (unsigned r = 0; r < options.rounds; ++r) {
      std::vector<double> each(options.threads);
      std::vector<std::thread> threads;
      for (unsigned t = 1; t < options.threads; ++t) {
        threads.emplace_back([&, t] { each[t] = run(population, options, options.seed + r * 100 + t); });
      }
      each[0] = run(population, options, options.seed + r * 100);
      for (std::thread& thread : threads) thread.join();
      double sum = 0;
      for (const double ns : each) sum += ns;
      rounds.push_back(sum / options.threads);
    }
    report.add_median(std::to_string(population), rounds, "ns");
  }
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
  report.print();
}
