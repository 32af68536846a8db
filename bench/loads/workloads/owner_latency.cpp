// owner_latency: one thread replaces its blocks at random and frees one half of them itself; the others it hands to the
// other threads, which free them at the same time. Each malloc and free of the owner is timed by itself: stresses
// whether a living owner waits for those that free its blocks, or does their work. Resembles a reader that makes
// requests, and workers that drop them. (latency is the same without other threads.)
#include "exchange.h"
#include "ticks.h"

namespace workload {
namespace {

constexpr size_t kPopulation = 20'000;
constexpr size_t kBundle = 100;
constexpr size_t kBundles = 64;

struct Held {
  void* block;
  size_t size;
};

struct Handful {
  Held held[kBundle];
  size_t count = 0;
};

using Way = Exchange<Handful, kBundles>;

// What the owner times, step by step; a step's free is timed only if it is its own.
struct Samples {
  Array<uint32_t> mallocs;
  Array<uint32_t> frees;
  size_t free_count = 0;
};

void own(Array<Held>& population, Way& full, Way& empty, Samples& samples, const TickClock& clock,
         const Options& options) {
  Random random(options.seed);
  const auto draw = [&] { return options.size != 0 ? options.size : random.log_between(16, 1024); };
  for (Held& held : population) {
    held.size = draw();
    held.block = take(held.size);
  }
  Handful* bundle = empty.take();
  for (uint32_t& sample : samples.mallocs) {
    Held& held = population[random.below(kPopulation)];
    if (random.next() % 2 == 0) {
      if (samples.free_count % options.verify == 0) check_stamp(held.block, held.size);
      samples.frees[samples.free_count++] = clock.time([&] { std::free(held.block); });
    } else {
      bundle->held[bundle->count++] = held;
    }
    held.size = draw();
    sample = clock.time([&] { held.block = std::malloc(held.size); });
    stamp(held.block, held.size);
    if (bundle->count < kBundle) continue;
    full.put(bundle);
    bundle = empty.take();
  }
  full.put(bundle);
  full.close();
  Sampler sampler(options.verify);
  for (const Held& held : population) sampler.give(held.block, held.size);
}

void free_bundles(Way& full, Way& empty, const Options& options) {
  Sampler sampler(options.verify);
  while (Handful* const bundle = full.take()) {
    for (; bundle->count != 0; --bundle->count) {
      const Held& held = bundle->held[bundle->count - 1];
      sampler.give(held.block, held.size);
    }
    empty.put(bundle);
  }
}

}  // namespace

const Program kProgram = {
    .name = "owner_latency",
    .what =
        R"(Reads the time stamp counter around each malloc and each free of one thread that replaces 20,000 blocks of mixed
sizes at random and frees one half of them; the other half it hands to the other threads, which free them meanwhile.
One distribution over all rounds, the clock's own cost taken off. Shows whether the owner pays for the others' frees.)",
    .figures = R"(malloc/WHAT, free/WHAT for average, p50, p99, p99.9, p99.99, max: ticks; clock: ticks taken off.)",
    .sizes = "mixed: 16 to 1024, log-uniform",
    .threads = "threads, at least 2, of which 1 is the owner",
    .defaults = {.threads = 2, .rounds = 2}};

void measure_all(const Options& options, Report& report) {
  const size_t steps = scaled(options, 1e6) * options.rounds;
  Array<Held> population(kPopulation);
  Array<Handful> bundles(kBundles);
  Samples samples{.mallocs = Array<uint32_t>(steps), .frees = Array<uint32_t>(steps)};
  const TickClock clock;
  Way full;
  Way empty;
  for (Handful& bundle : bundles) empty.put(&bundle);
  run_threads(std::max(2u, options.threads), [&](unsigned t) {
    t == 0 ? own(population, full, empty, samples, clock, options) : free_bundles(full, empty, options);
  });
  report.add("clock", static_cast<double>(clock.cost()), "ticks");
  add_distribution(report, "malloc", samples.mallocs, steps);
  if (samples.free_count != 0) add_distribution(report, "free", samples.frees, samples.free_count);
}

}  // namespace workload
