// latency: the time stamp counter around each malloc and each free, over 100k live blocks of 16 B–16 KiB. Average, high
// percentiles and maximum of single operations, in ticks. The table of Compact-fit against TLSF was measured so.
#include "ticks.h"

namespace workload {
namespace {

constexpr size_t kPopulation = 100'000;

struct Held {
  void* block;
  size_t size;
};

}  // namespace

const Program kProgram = {
    .name = "latency",
    .what =
        R"(Reads the time stamp counter around each malloc and each free while 100,000 blocks of mixed sizes are replaced
at random. One distribution over all rounds, the clock's own cost taken off.)",
    .figures = R"(malloc/WHAT, free/WHAT for average, p50, p99, p99.9, p99.99, max: ticks; clock: ticks taken off.)",
    .sizes = "mixed: 16 to 16384, log-uniform",
    .defaults = {.rounds = 2}};

void measure_all(const Options& options, Report& report) {
  Array<Held> held(kPopulation);
  const size_t steps = scaled(options, 1e6) * options.rounds;
  Array<uint32_t> mallocs(steps);
  Array<uint32_t> frees(steps);
  Random random(options.seed);
  const auto draw = [&] { return options.size != 0 ? options.size : random.log_between(16, 16384); };
  for (Held& h : held) {
    h.size = draw();
    h.block = take(h.size);
  }
  const TickClock clock;
  for (size_t i = 0; i < steps; ++i) {
    Held& h = held[random.below(kPopulation)];
    if (i % options.verify == 0) check_stamp(h.block, h.size);
    frees[i] = clock.time([&] { std::free(h.block); });
    h.size = draw();
    mallocs[i] = clock.time([&] { h.block = std::malloc(h.size); });
    stamp(h.block, h.size);
  }
  report.add("clock", static_cast<double>(clock.cost()), "ticks");
  add_distribution(report, "malloc", mallocs, steps);
  add_distribution(report, "free", frees, steps);
}

}  // namespace workload
