// asymmetric: one thread allocates and all others free, or all others allocate and one frees, over a bounded exchange
// of batches. Every free is remote, and one side is always behind. Stresses the way home of blocks when the owner, or
// the freer, is the bottleneck, and the memory that is under way. Resembles xmalloc-test with unequal sides.
#include <atomic>

#include "exchange.h"

namespace workload {
namespace {

constexpr size_t kBatch = 100;
constexpr size_t kDepth = 256;

using Batch = Bundle<kBatch>;
using Way = Exchange<Batch, kDepth>;

// Millions of blocks a second.
double run(unsigned producers, unsigned consumers, size_t size, const Options& options, uint64_t seed) {
  Array<Batch> bundles(kDepth);
  Way full;
  Way empty;
  for (Batch& bundle : bundles) empty.put(&bundle);
  const size_t batches = scaled(options, 60'000) / producers + 1;  // of each producer
  std::atomic<unsigned> producing{producers};
  const auto produce = [&](unsigned p) {
    Random random(seed * 100 + p);
    for (size_t i = 0; i < batches; ++i) {
      Batch* const bundle = empty.take();
      bundle->fill(size, random);
      full.put(bundle);
    }
    if (producing.fetch_sub(1) == 1) full.close();
  };
  const auto consume = [&] {
    Sampler sampler(options.verify);
    while (Batch* const bundle = full.take()) {
      bundle->free(sampler);
      empty.put(bundle);
    }
  };
  const double ns = run_threads(producers + consumers, [&](unsigned t) { t < producers ? produce(t) : consume(); });
  return static_cast<double>(batches * kBatch * producers) / ns * 1e3;
}

}  // namespace

const Program kProgram = {
    .name = "asymmetric",
    .what =
        R"(One thread allocates batches of 100 blocks that all others free (scatter), or all others allocate what one
thread frees (gather). Shows the way of blocks back to their owner when one side is behind, and what is under way.)",
    .figures = R"(scatter/SIZE, gather/SIZE: millions of blocks a second over all threads; rss: KiB at the end.)",
    .sizes = "64, and mixed: 16 to 1024, log-uniform, one size a batch",
    .threads = "threads, at least 2, of which 1 is alone on its side",
    .defaults = {.threads = 4}};

void measure_all(const Options& options, Report& report) {
  const unsigned others = std::max(2u, options.threads) - 1;
  for (const size_t size : options.sizes_or({64, kMixed})) {
    const std::string name = size == kMixed ? "mixed" : std::to_string(size);
    report.measure("scatter/" + name, "M/s", [&](uint64_t seed) { return run(1, others, size, options, seed); });
    report.measure("gather/" + name, "M/s", [&](uint64_t seed) { return run(others, 1, size, options, seed); });
  }
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
}

}  // namespace workload
