// batch_lifetimes: each thread allocates batches of blocks, of a size each, and frees them newest first, oldest first
// or at random; a part of the batches is kept over several rounds, and in `crossed` another thread frees them. Stresses
// caches that meet several orders and ages at once, where `batches` shows each alone. Resembles sh6bench (private) and
// sh8bench (crossed).
#include "workload.h"

#include <mutex>

namespace workload {
namespace {

constexpr size_t kBatch = 400;
constexpr size_t kKept = 32;  // batches that live on, of each thread
constexpr size_t kSmallest = 8;
constexpr size_t kLargest = 1024;

struct Batch {
  std::mutex mutex;  // in `crossed` any thread may come for it
  size_t count;
  size_t size;
  void* blocks[kBatch];
};

enum class Freed { kByItsThread, kByAnyThread };

class Worker {
 public:
  Worker(Array<Batch>& kept, Freed freed, unsigned number, uint64_t seed, const Options& options)
      : kept_(kept), freed_(freed), number_(number), random_(seed), sampler_(options.verify), options_(options) {}

  // Blocks allocated and freed.
  size_t run(size_t rounds) {
    for (size_t round = 0; round < rounds; ++round) {
      Array<void*>& blocks = blocks_;
      const size_t size = options_.size != 0 ? options_.size : random_.between(kSmallest, kLargest);
      for (void*& block : blocks) block = take(size);
      // Every fourth batch takes the place of one that was kept.
      if (round % 4 == 0)
        keep(blocks, size);
      else
        free_all(blocks.begin(), kBatch, size);
    }
    return rounds * kBatch;
  }

  void end() {
    for (size_t i = 0; i < kKept; ++i) {
      Batch& batch = kept_[number_ * kKept + i];
      free_all(batch.blocks, batch.count, batch.size);
      batch.count = 0;
    }
  }

 private:
  void keep(Array<void*>& blocks, size_t size) {
    const size_t all = freed_ == Freed::kByAnyThread ? kept_.size() : kKept;
    const size_t first = freed_ == Freed::kByAnyThread ? 0 : number_ * kKept;
    Batch& batch = kept_[first + random_.below(all)];
    const std::lock_guard lock(batch.mutex);
    free_all(batch.blocks, batch.count, batch.size);
    std::copy(blocks.begin(), blocks.end(), batch.blocks);
    batch.count = kBatch;
    batch.size = size;
  }

  void free_all(void** blocks, size_t count, size_t size) {
    const size_t order = random_.below(3);
    if (order == 2) {
      for (size_t i = count; i > 1; --i) std::swap(blocks[i - 1], blocks[random_.below(i)]);
    }
    for (size_t i = 0; i < count; ++i) sampler_.give(blocks[order == 0 ? count - 1 - i : i], size);
  }

  Array<Batch>& kept_;
  Freed freed_;
  unsigned number_;
  Random random_;
  Sampler sampler_;
  const Options& options_;
  Array<void*> blocks_{kBatch};
};

// Millions of blocks a second.
double run(Freed freed, const Options& options, uint64_t seed) {
  Array<Batch> kept(kKept * options.threads);  // zeroed memory is an open mutex and no blocks
  const size_t rounds = scaled(options, 8000);
  const double ns =
      run_threads(options.threads, [&](unsigned t) { Worker(kept, freed, t, seed * 100 + t, options).run(rounds); });
  for (unsigned t = 0; t < options.threads; ++t) Worker(kept, freed, t, seed, options).end();
  return static_cast<double>(rounds * kBatch * options.threads) / ns * 1e3;
}

}  // namespace

const Program kProgram = {
    .name = "batch_lifetimes",
    .what =
        R"(Each thread allocates batches of 400 blocks of one size and frees them newest first, oldest first or at random;
every fourth batch is kept in one of 32 places a thread, where it replaces an older one, of the same thread (private)
or of any (crossed).)",
    .figures = "private, crossed: millions of blocks a second, over all threads; rss: KiB at the end.",
    .sizes = "one for each batch, 8 to 1024, uniform",
    .threads = "threads",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  report.measure("private", "M/s", [&](uint64_t seed) { return run(Freed::kByItsThread, options, seed); });
  report.measure("crossed", "M/s", [&](uint64_t seed) { return run(Freed::kByAnyThread, options, seed); });
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
}

}  // namespace workload
