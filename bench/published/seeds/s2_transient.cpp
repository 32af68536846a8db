// s2_transient: Compact-fit's transient size-class fragmentation (S2): what moves hold twice while eight threads use
// one compacting heap, by the compaction increment. `snug-seeds S2` runs it and judges.
#include "batch_load.h"

namespace workload {
namespace {

using seeds::BatchLoad;
using seeds::CompactHeaps;
using seeds::HeapCounts;

constexpr unsigned kThreads = 8;
constexpr double kMilliseconds = 100;
constexpr double kPauseNs = 20e3;
constexpr size_t kUnbounded = 64 << 10;
constexpr unsigned kLargest = 4096;

// Four classes of the heap's own.
constexpr double kClasses = 4;
size_t draw_four_classes(Random& random) { return random.between(3585, kLargest); }

constexpr std::array<const char*, 9> kNames = {"samples", "in_flight",   "most_in_flight", "held",         "most_held",
                                               "beyond",  "most_beyond", "not_full",       "most_not_full"};
constexpr std::array<const char*, 9> kUnits = {"1", "1", "1", "B", "B", "1", "1", "B", "B"};
using Figures = std::array<double, kNames.size()>;

struct Average {
  double sum = 0, most = 0;
  void add(double value) {
    sum += value;
    most = std::max(most, value);
  }
};

Figures run(size_t increment, const Options& options, uint64_t seed) {
  snug_compact_options wanted{};
  wanted.not_full = 1;
  wanted.increment = increment;
  wanted.sharing = SNUG_COMPACT_CLASS_LOCKS;
  CompactHeaps heaps(kThreads, wanted, false);
  const BatchLoad load{.blocks = 64, .buffers = 8, .draw = draw_four_classes, .verify = options.verify};
  double samples = 0;
  Average in_flight, beyond, not_full;
  seeds::run_load(heaps, load, kThreads, seed, [&] {
    const double end = now_ns() + kMilliseconds * 1e6 * options.scale;
    do {
      const HeapCounts now = heaps.stats();
      ++samples;
      in_flight.add(static_cast<double>(now.moves_in_flight));
      beyond.add(std::max(0.0, static_cast<double>(now.rows_not_full) - kClasses));
      not_full.add(static_cast<double>(now.not_full));
      seeds::sleep_ns(kPauseNs);
    } while (now_ns() < end);
  });
  const double moves = in_flight.sum / samples;
  return {samples,
          moves,
          in_flight.most,
          moves * kLargest,
          in_flight.most * kLargest,
          beyond.sum / samples,
          beyond.most,
          not_full.sum / samples,
          not_full.most};
}

// What may be free in pages with kappa = 1 and all classes of Compact-fit's in use.
double bound_of_all_classes() {
  snug_compact_options wanted{};
  wanted.map = SNUG_COMPACT_CF16;
  return static_cast<double>(CompactHeaps(1, wanted, false).stats().bound);
}

}  // namespace

const Program kProgram = {
    .name = "s2_transient",
    .what =
        R"(Eight threads allocate 64 blocks and free 64, over and over, each with 8 such batches alive, of four classes
of 3.5 to 4 KiB, on the compacting heap with kappa = 1 and a lock for each class. A ninth looks at the heap every 20 us.)",
    .figures = R"(increment=B/NAME, B 16 to 32768, or none: moves are whole. NAME: samples; in_flight, most_in_flight:
moves that were under way, on average and at most; held, most_held: bytes that these held twice, each block as 4096;
beyond, most_beyond: rows of pages that are not full beyond one a class, since moves take their time; not_full,
most_not_full: bytes that are free in all that are not full. bound: of these, what kappa = 1 allows if each of
Compact-fit's classes from 16 B is in use.)"};

void measure_all(const Options& options, Report& report) {
  for (const size_t increment :
       {size_t{16}, size_t{64}, size_t{256}, size_t{1024}, size_t{4096}, size_t{32768}, kUnbounded}) {
    const std::string prefix = "increment=" + (increment == kUnbounded ? "none" : std::to_string(increment)) + "/";
    Report::Figure figures[kNames.size()];
    for (size_t i = 0; i < kNames.size(); ++i) figures[i] = {prefix + kNames[i], kUnits[i]};
    report.measure(figures, [&](uint64_t seed) { return in_child([&] { return run(increment, options, seed); }); });
  }
  if (report.wants("bound")) report.add("bound", in_child(bound_of_all_classes), "B");
}

}  // namespace workload
