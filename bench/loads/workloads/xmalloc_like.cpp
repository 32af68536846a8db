// xmalloc_like: every thread allocates batches, hands them to another thread and frees the batches that it is handed:
// to its neighbour always (a ring), or to each of the others in turn. Every thread is an owner and a freer of others'
// blocks at once, and every free is remote. Stresses the way home while both ends are busy. Resembles xmalloc-test,
// in which a thread does both. (producer_consumer has a half for each.)
#include <deque>

#include "exchange.h"

namespace workload {
namespace {

constexpr size_t kAhead = 4;     // bundles of each thread, so that a slow one does not stop all others at once
constexpr size_t kDepth = 1024;  // bundles of all threads

enum class Way { kRing, kAll };

// Millions of mallocs with their frees a second, over all threads.
template <size_t kBatch>
double run(Way way, size_t size, const Options& options, uint64_t seed) {
  using Box = Exchange<Bundle<kBatch>, kDepth>;
  const unsigned threads = std::max(2u, options.threads);
  if (kAhead * threads > kDepth) fail("--threads: 256 at most, please");
  const size_t batches = scaled(options, 1e6) / kBatch + 1;  // of each
  Array<Bundle<kBatch>> bundles(kAhead * threads);
  std::deque<Box> boxes(threads);  // of what is handed to each thread
  const double ns = run_threads(threads, [&](unsigned t) {
    Random random(seed + t);
    Sampler sampler(options.verify);
    for (size_t i = 0; i < batches + kAhead; ++i) {
      Bundle<kBatch>* bundle = &bundles[kAhead * t + i % kAhead];
      if (i >= kAhead) {
        bundle = boxes[t].take();
        bundle->free(sampler);
      }
      if (i >= batches) continue;
      bundle->fill(size, random);
      // At each step all hand on by the same distance: so each is handed one bundle for each that it hands on.
      const size_t distance = way == Way::kRing ? 1 : 1 + i % (threads - 1);
      boxes[(t + distance) % threads].put(bundle);
    }
  });
  return static_cast<double>(batches * kBatch * threads) / ns * 1e3;
}

template <size_t kBatch>
void add(Report& report, const Options& options) {
  const size_t size = options.sizes_or({64})[0];
  for (const auto& [name, way] : {std::pair<std::string, Way>{"ring/", Way::kRing}, {"all/", Way::kAll}}) {
    report.measure(name + std::to_string(kBatch), "M/s",
                   [&](uint64_t seed) { return run<kBatch>(way, size, options, seed); });
  }
}

}  // namespace

const Program kProgram = {
    .name = "xmalloc_like",
    .what =
        R"(Each thread allocates batches of blocks, hands each to its neighbour (ring) or to all others in turn (all), and
frees the batches that it is handed: every free is of another thread's block. Shows the way of blocks home while
every thread allocates and frees.)",
    .figures = "WAY/BATCH, with batches of 100 and of 4096: millions of mallocs and frees a second, over all threads.",
    .sizes = "64",
    .threads = "threads, at least 2",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  add<100>(report, options);
  add<4096>(report, options);
}

}  // namespace workload
