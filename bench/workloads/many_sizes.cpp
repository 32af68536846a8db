// many_sizes: a population of every size from 8 B to 32 KiB, each thread with its own; after each phase the range of
// sizes moves on and most blocks of the old phase die. Threads hand a part of their blocks to the next one. Stresses
// reuse of memory between classes. Resembles rpmalloc's rptest.
#include "workload.h"

#include <barrier>
#include <thread>

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
  std::vector<std::thread> threads;
  const double start = now_ns();
  for (unsigned t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] {
      Random random(seed + t);
      Sampler sampler(options.verify);
      for (unsigned phase = 0; phase < kPhases; ++phase) {
        // Each phase works on the next thread's blocks: the first free of each is remote.
        Held* const mine = &all[kPopulation * ((t + phase) % options.threads)];
        for (size_t i = 0; i < steps; ++i) {
          const size_t size =
              options.size != 0 ? options.size : random.log_between(kRanges[phase][0], kRanges[phase][1]);
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
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = (now_ns() - start) / 1e9;
  for (const Held& held : all) std::free(held.block);
  return static_cast<double>(steps * kPhases * options.threads) / seconds / 1e6;
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  Options defaults;
  defaults.threads = 2;
  const Options options = parse_options(argc, argv, defaults);
  Report report("many_sizes", options);
  std::vector<double> rounds;
  for (unsigned r = 0; r < options.rounds; ++r) rounds.push_back(run(options, options.seed + r));
  report.add_median("replacements", rounds, "M/s");
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
  report.print();
}
