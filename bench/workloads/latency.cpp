// latency: the time stamp counter around each malloc and each free, over 100k live blocks of 16 B–16 KiB. Average, high
// percentiles and maximum of single operations, in ticks. The table of Compact-fit against TLSF was measured so.
#include "workload.h"

#include <x86intrin.h>

namespace workload {
namespace {

constexpr size_t kPopulation = 100'000;

// rdtscp waits for what went before it, the fence keeps what follows behind it.
uint64_t ticks() {
  unsigned processor = 0;
  const uint64_t t = __rdtscp(&processor);
  _mm_lfence();
  return t;
}

struct Held {
  void* block;
  size_t size;
};

void add_distribution(Report& report, const char* what, Array<uint32_t>& samples) {
  std::sort(samples.begin(), samples.end());
  double sum = 0;
  for (const uint32_t t : samples) sum += t;
  const auto quantile = [&](double q) {
    return static_cast<double>(
        samples[std::min(samples.size() - 1, static_cast<size_t>(q * static_cast<double>(samples.size())))]);
  };
  const std::string prefix = std::string(what) + "/";
  report.add(prefix + "average", sum / static_cast<double>(samples.size()), "ticks");
  report.add(prefix + "p50", quantile(0.5), "ticks");
  report.add(prefix + "p99", quantile(0.99), "ticks");
  report.add(prefix + "p99.9", quantile(0.999), "ticks");
  report.add(prefix + "p99.99", quantile(0.9999), "ticks");
  report.add(prefix + "max", quantile(1), "ticks");
}

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
  // The clock's own cost, to be subtracted.
  uint64_t overhead = ~uint64_t{0};
  for (int i = 0; i < 1000; ++i) {
    const uint64_t before = ticks();
    overhead = std::min(overhead, ticks() - before);
  }
  const auto net = [overhead](uint64_t gross) {
    return static_cast<uint32_t>(std::min<uint64_t>(gross > overhead ? gross - overhead : 0, ~uint32_t{0}));
  };
  for (size_t i = 0; i < steps; ++i) {
    Held& h = held[random.below(kPopulation)];
    if (i % options.verify == 0) check_stamp(h.block, h.size);
    const uint64_t before_free = ticks();
    std::free(h.block);
    const uint64_t after_free = ticks();
    h.size = draw();
    const uint64_t before_malloc = ticks();
    h.block = std::malloc(h.size);
    const uint64_t after_malloc = ticks();
    frees[i] = net(after_free - before_free);
    mallocs[i] = net(after_malloc - before_malloc);
    stamp(h.block, h.size);
  }
  report.add("clock", static_cast<double>(overhead), "ticks");
  add_distribution(report, "malloc", mallocs);
  add_distribution(report, "free", frees);
}

}  // namespace workload
