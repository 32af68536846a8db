// swap: every thread allocates a block, swaps it into a random shared slot and frees what it got out, which with n
// threads another made (n-1)/n of the time. Stresses remote frees one at a time, unbatched by the program. Resembles
// mimalloc-bench's mstress and cache-thrash.
#include "workload.h"

#include <atomic>

namespace workload {
namespace {

constexpr size_t kSlots = 1024;

double run(size_t size, const Options& options, uint64_t seed) {
  Array<std::atomic<void*>> slots(kSlots);
  const size_t steps = scaled(options, 1'500'000);
  const double ns = run_threads(options.threads, [&](unsigned t) {
    Random random(seed + t);
    Sampler sampler(options.verify);
    for (size_t i = 0; i < steps; ++i) {
      void* const block = slots[random.below(kSlots)].exchange(take(size), std::memory_order_acq_rel);
      if (block != nullptr) sampler.give(block, size);
    }
  });
  for (std::atomic<void*>& slot : slots) std::free(slot.load());
  return ns / static_cast<double>(steps * options.threads);
}

}  // namespace

const Program kProgram = {
    .name = "swap",
    .what =
        R"(Each thread allocates a block, swaps it into a random one of 1024 shared slots and frees what it got out, which
with n threads another made (n-1)/n of the time. Shows remote frees one at a time.)",
    .figures = "SIZE: ns for a malloc, the swap and a free, over all threads.",
    .sizes = "64, 512",
    .threads = "threads",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  for (const size_t size : options.sizes_or({64, 512})) {
    report.measure(std::to_string(size), "ns", [&](uint64_t seed) { return run(size, options, seed); });
  }
}

}  // namespace workload
