// batches: allocate N blocks, free them newest first, oldest first, or in a fixed random order. Stresses the thread
// cache's refill and flush, and locality after random frees. Resembles the inner loops of bulk_alloc and
// mimalloc-bench's alloc-test.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kMixed = 1;  // stands for sizes 16…4096, log-uniform

struct Case {
  const char* order;
  size_t size;
  size_t batch;
};

size_t size_of(size_t size, Random& random) { return size == kMixed ? random.log_between(16, 4096) : size; }

// ns per malloc + free.
double run(const Case& c, const Options& options, uint64_t seed) {
  Random random(seed);
  Array<void*> blocks(c.batch);
  Array<size_t> sizes(c.batch);
  Array<uint32_t> order(c.batch);
  for (size_t i = 0; i < c.batch; ++i) {
    sizes[i] = size_of(c.size, random);
    order[i] = static_cast<uint32_t>(c.order[0] == 'l' ? c.batch - 1 - i : i);
  }
  if (c.order[0] == 'r') shuffle(order, random);
  Sampler sampler(options.verify);
  const size_t repeats = std::max<size_t>(2, scaled(options, 400000) / c.batch);
  double start = 0;
  for (size_t repeat = 0; repeat <= repeats; ++repeat) {
    if (repeat == 1) start = now_ns();  // the first round warms up
    for (size_t i = 0; i < c.batch; ++i) blocks[i] = take(sizes[i]);
    for (const uint32_t i : order) sampler.give(blocks[i], sizes[i]);
  }
  return (now_ns() - start) / static_cast<double>(repeats * c.batch);
}

}  // namespace

const Program kProgram = {
    .name = "batches",
    .what =
        R"(Allocates N blocks, then frees them newest first (lifo), oldest first (fifo) or in a fixed random order, over
and over. Shows what a thread cache's refill and flush cost, and locality after random frees.)",
    .figures = R"(lifo/SIZE/N, fifo/SIZE/N, random/SIZE/N for N of 100, 1000, 10000: ns for a malloc and its free.)",
    .sizes = "16, 64, 256, 1024, 4096, and mixed: 16 to 4096, log-uniform",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  for (const char* order : {"lifo", "fifo", "random"}) {
    for (const size_t size : options.sizes_or({16, 64, 256, 1024, 4096, kMixed})) {
      for (const size_t batch : {size_t{100}, size_t{1000}, size_t{10000}}) {
        const std::string name = size == kMixed ? "mixed" : std::to_string(size);
        report.measure(std::string(order) + "/" + name + "/" + std::to_string(batch), "ns", [&](uint64_t seed) {
          return average_of_threads(options.threads,
                                    [&](unsigned t) { return run({order, size, batch}, options, seed + t); });
        });
      }
    }
  }
}

}  // namespace workload
