// table_free: threads replace random entries of a table that they share, and what they took out is freed by one thread
// that never allocates. Every free is remote, and for as long as the run lasts: stresses whether memory comes home as
// fast as it is taken, or the heap grows beyond what lives. Resembles a cache with a reaper that frees evicted entries.
#include <atomic>

#include "exchange.h"
#include "footprint.h"

namespace workload {
namespace {

constexpr size_t kEntries = 640'000;
constexpr size_t kBundle = 128;
constexpr size_t kBundles = 64;  // so that at most 8192 blocks are on their way
constexpr unsigned kSampleMicroseconds = 50'000;
constexpr size_t kSamples = 1 << 16;  // nearly an hour

using Batch = Bundle<kBundle>;
using Way = Exchange<Batch, kBundles>;

struct Figures {
  double median;
  double highest;
  double live;
  double replace_ns;
};

struct Table {
  Array<std::atomic<void*>> entries{kEntries};
  Array<Batch> bundles{kBundles};
  Way full;
  Way empty;
};

void replace(Table& table, size_t batches, size_t size, uint64_t seed) {
  Random random(seed);
  for (; batches != 0; --batches) {
    Batch* const bundle = table.empty.take();
    bundle->size = size;
    for (void*& out : bundle->blocks) out = table.entries[random.below(kEntries)].exchange(take(size));
    table.full.put(bundle);
  }
}

void reap(Table& table, const Options& options) {
  Sampler sampler(options.verify);
  while (Batch* const bundle = table.full.take()) {
    bundle->free(sampler);
    table.empty.put(bundle);
  }
}

Figures run(size_t size, const Options& options, uint64_t seed) {
  Table table;
  for (Batch& bundle : table.bundles) table.empty.put(&bundle);
  Array<double> samples(kSamples);
  const Footprint footprint;
  const unsigned workers = options.threads;
  run_threads(workers, [&](unsigned t) {
    for (size_t i = t; i < kEntries; i += workers) table.entries[i] = take(size);
  });
  const size_t batches = scaled(options, 4e6) / kBundle / workers + 1;  // of each
  std::atomic<unsigned> working{workers};
  const double start = now_ns();
  double end = 0;
  size_t count = 0;
  run_threads(workers + 2, [&](unsigned t) {
    if (t == workers) return reap(table, options);
    if (t > workers) {  // looks at memory
      do {
        usleep(kSampleMicroseconds);
        if (count < kSamples) samples[count++] = footprint.mib();
      } while (working != 0);
      return;
    }
    replace(table, batches, size, seed * 1000 + t);
    if (working.fetch_sub(1) != 1) return;
    end = now_ns();
    table.full.close();
  });
  std::sort(samples.begin(), samples.begin() + count);
  Sampler sampler(options.verify);
  for (std::atomic<void*>& entry : table.entries) sampler.give(entry, size);
  return {samples[count / 2], samples[count - 1], static_cast<double>(kEntries * size) / (1 << 20),
          (end - start) / static_cast<double>(batches * kBundle * workers)};
}

}  // namespace

const Program kProgram = {
    .name = "table_free",
    .what =
        R"(--threads fill a table of 640,000 blocks and replace random ones, 4 million in all (--scale 100: 400 million);
one thread that never allocates frees what they take out. Each round runs in a child process. Shows whether memory
comes home as fast as it is taken.)",
    .figures =
        R"(median, highest: MiB of anonymous memory, looked at every 50 ms while blocks are replaced, without the array
that is the table; live: MiB of blocks in the table, beside which at most 8192 are on their way; median/live: %;
replace: ns a replacement over all threads.)",
    .sizes = "592",
    .threads = "threads that replace; one more frees, one more looks on",
    .defaults = {.threads = 16, .rounds = 1}};

void measure_all(const Options& options, Report& report) {
  const size_t size = options.sizes_or({592})[0];
  const Report::Figure figures[] = {
      {"median", "MiB"}, {"highest", "MiB"}, {"live", "MiB"}, {"median/live", "%"}, {"replace", "ns"}};
  report.measure(figures, [&](uint64_t seed) {
    const Figures of = in_child([&] { return run(size, options, seed); });
    return std::array{of.median, of.highest, of.live, 100 * of.median / of.live, of.replace_ns};
  });
}

}  // namespace workload
