// swap: every thread allocates a block, swaps it into a random shared slot and frees what it got out, which with n
// threads another made (n-1)/n of the time. Stresses remote frees one at a time, unbatched by the program. Resembles
// mimalloc-bench's mstress and cache-thrash.
#include "workload.h"

#include <atomic>
#include <thread>

namespace workload {
namespace {

constexpr size_t kSlots = 1024;

double run(size_t size, const Options& options, uint64_t seed) {
  Array<std::atomic<void*>> slots(kSlots);
  const size_t steps = scaled(options, 1'500'000);
  std::vector<std::thread> threads;
  const double start = now_ns();
  for (unsigned t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] {
      Random random(seed + t);
      Sampler sampler(options.verify);
      for (size_t i = 0; i < steps; ++i) {
        void* const block = slots[random.below(kSlots)].exchange(take(size), std::memory_order_acq_rel);
        if (block != nullptr) sampler.give(block, size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double ns = (now_ns() - start) / static_cast<double>(steps * options.threads);
  for (std::atomic<void*>& slot : slots) std::free(slot.load());
  return ns;
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  Options defaults;
  defaults.threads = 2;
  const Options options = parse_options(argc, argv, defaults);
  Report report("swap", options);
  const std::vector<size_t> sizes =
      options.size != 0 ? std::vector<size_t>{options.size} : std::vector<size_t>{64, 512};
  for (const size_t size : sizes) {
    std::vector<double> rounds;
    for (unsigned r = 0; r < options.rounds; ++r) rounds.push_back(run(size, options, options.seed + r));
    report.add_median(std::to_string(size), rounds, "ns");
  }
  report.print();
}
