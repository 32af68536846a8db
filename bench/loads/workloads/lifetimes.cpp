// lifetimes: random lifetimes around a steady population of equal blocks. Each step picks a slot at random: a block
// there is freed, an empty slot is filled. (Freeing one and allocating another in its place at once would hand the same
// block out again and again.) Stresses cache misses in free and refill order once the population leaves the caches.
// Resembles the "random" mode of many allocator tests.
#include "workload.h"

namespace workload {
namespace {

// ns per malloc + free, which are two steps.
double run(size_t population, size_t size, const Options& options, uint64_t seed) {
  Random random(seed);
  Array<void*> slots(2 * population);
  Sampler sampler(options.verify);
  const auto live_on = [&](size_t steps) {
    for (size_t i = 0; i < steps; ++i) {
      void*& slot = slots[random.below(slots.size())];
      if (slot != nullptr) {
        sampler.give(slot, size);
        slot = nullptr;
      } else {
        slot = take(size);
      }
    }
  };
  live_on(8 * population);  // half of the slots are full, and age and address have nothing to do with each other
  const size_t pairs = scaled(options, 1'500'000);
  const double start = now_ns();
  live_on(2 * pairs);
  const double ns = (now_ns() - start) / static_cast<double>(pairs);
  for (void* block : slots) std::free(block);
  return ns;
}

}  // namespace

const Program kProgram = {
    .name = "lifetimes",
    .what =
        R"(Picks a slot at random, over and over: frees the block there, or fills the empty slot, so that about N blocks of
one size live and age has nothing to do with address. Shows cache misses in free and refill order.)",
    .figures = "10k/SIZE, 200k/SIZE: ns for a malloc and a free.",
    .sizes = "64, 256",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  for (const size_t population : {size_t{10'000}, size_t{200'000}}) {
    for (const size_t size : options.sizes_or({64, 256})) {
      report.measure(std::to_string(population / 1000) + "k/" + std::to_string(size), "ns", [&](uint64_t seed) {
        return average_of_threads(options.threads,
                                  [&](unsigned t) { return run(population, size, options, seed * 100 + t); });
      });
    }
  }
}

}  // namespace workload
