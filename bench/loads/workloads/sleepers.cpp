// sleepers: threads that work one after the other, free all that they have and sleep on. What each leaves in its cache,
// and the slabs that this keeps, stays for as long as it sleeps. Resembles workers that are started as they are needed
// and seldom needed again.
#include "workload.h"

#include <semaphore>

namespace workload {
namespace {

constexpr size_t kBlocks = 8000;       // that a thread has at a time
constexpr size_t kReplaced = 100'000;  // by each thread

struct Held {
  void* block;
  size_t size;
};

struct Work {
  double replacing;  // ns, a malloc and a free
  double freeing;    // ns a block
};

Work work(Array<Held>& held, uint64_t seed, const Options& options) {
  Random random(seed);
  Sampler sampler(options.verify);
  const auto fill = [&](Held& place) {
    place.size = options.size != 0 ? options.size : random.log_between(16, 16384);
    place.block = take_whole(place.size);
  };
  for (Held& place : held) fill(place);
  const size_t steps = scaled(options, kReplaced);
  const double start = now_ns();
  for (size_t i = 0; i < steps; ++i) {
    Held& place = held[random.below(kBlocks)];
    sampler.give(place.block, place.size);
    fill(place);
  }
  const double replaced = now_ns();
  for (const Held& place : held) sampler.give(place.block, place.size);
  return {(replaced - start) / static_cast<double>(steps), (now_ns() - replaced) / kBlocks};
}

double kib_more(size_t before, size_t after) { return after > before ? static_cast<double>(after - before) : 0; }

}  // namespace

const Program kProgram = {
    .name = "sleepers",
    .what =
        R"(Each of --threads replaces blocks of mixed sizes at random, frees all of them and sleeps, and the next one begins.
Shows what memory a thread keeps that has none.)",
    .figures =
        R"(replacing: ns a free and a malloc; freeing: ns a block, at the end; rss: MiB of anonymous memory over that at
the start, while all of them sleep, with what the process keeps for all; rss/thread: KiB that each after the first has
added to it.)",
    .sizes = "mixed: 16 to 16384, log-uniform",
    .threads = "threads that sleep in the end",
    .defaults = {.threads = 16}};

void measure_all(const Options& options, Report& report) {
  Array<Held> held(kBlocks);
  std::vector<std::thread> threads;
  threads.reserve(options.threads);
  std::counting_semaphore<> done(0);
  std::counting_semaphore<> wake(0);
  std::vector<double> replacing;
  std::vector<double> freeing;
  replacing.reserve(options.threads);
  freeing.reserve(options.threads);
  anonymous_kib();  // so that what it touches is there
  const size_t base = anonymous_kib();
  size_t first = 0;
  for (unsigned t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] {
      const Work each = work(held, options.seed * 1000 + t, options);
      replacing.push_back(each.replacing);
      freeing.push_back(each.freeing);
      done.release();
      wake.acquire();
    });
    done.acquire();
    if (t == 0) first = anonymous_kib();
  }
  const size_t last = anonymous_kib();
  wake.release(options.threads);
  for (std::thread& thread : threads) thread.join();
  report.add_median("replacing", replacing, "ns");
  report.add_median("freeing", freeing, "ns");
  report.add("rss", kib_more(base, last) / 1024, "MiB");
  if (options.threads > 1) report.add("rss/thread", kib_more(first, last) / (options.threads - 1), "KiB");
}

}  // namespace workload
