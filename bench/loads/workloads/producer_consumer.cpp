// producer_consumer: half of the threads allocate batches of 120 blocks, the other half free them. Every free is
// remote. Stresses the way of blocks back to their owner. Resembles xmalloc-test.
#include "exchange.h"

namespace workload {
namespace {

constexpr size_t kBatch = 120;
constexpr size_t kDepth = 64;

using Batch = Bundle<kBatch>;
using Way = Exchange<Batch, kDepth>;

double run(unsigned pairs, size_t size, const Options& options, uint64_t seed) {
  Array<Batch> bundles(kDepth);
  Way full;
  Way empty;
  for (Batch& bundle : bundles) empty.put(&bundle);
  const size_t batches = scaled(options, 40'000);  // of each producer
  const auto produce = [&](unsigned p) {
    Random random(seed + p);
    for (size_t i = 0; i < batches; ++i) {
      Batch* const bundle = empty.take();
      bundle->fill(size, random);
      full.put(bundle);
    }
  };
  const auto consume = [&] {
    Sampler sampler(options.verify);
    for (size_t i = 0; i < batches; ++i) {
      Batch* const bundle = full.take();
      bundle->free(sampler);
      empty.put(bundle);
    }
  };
  const double ns = run_threads(2 * pairs, [&](unsigned t) { t % 2 == 0 ? produce(t / 2) : consume(); });
  return ns / static_cast<double>(batches * kBatch * pairs);
}

}  // namespace

const Program kProgram = {
    .name = "producer_consumer",
    .what =
        R"(Half of the threads allocate batches of 120 blocks, the other half free them: every free is of another thread's
block. Shows the way of blocks back to their owner.)",
    .figures = "SIZE: ns a block over all threads, from the first start to the last end.",
    .sizes = "64, 512, and mixed: 16 to 1024, log-uniform, one size a batch",
    .threads = "threads, in pairs",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  const unsigned pairs = std::max(1u, options.threads / 2);
  for (const size_t size : options.sizes_or({64, 512, kMixed})) {
    report.measure(size == kMixed ? "mixed" : std::to_string(size), "ns",
                   [&](uint64_t seed) { return run(pairs, size, options, seed); });
  }
}

}  // namespace workload
