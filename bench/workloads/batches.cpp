// batches: allocate N blocks, free them newest first, oldest first, or in a fixed random order. Stresses the thread
// cache's refill and flush, and locality after random frees. Resembles the inner loops of bulk_alloc and
// mimalloc-bench's alloc-test.
#include "workload.h"

#include <thread>

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
double run_case(const Case& c, const Options& options, uint64_t seed) {
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

double run_threads(const Case& c, const Options& options, uint64_t seed) {
  if (options.threads == 1) return run_case(c, options, seed);
  std::vector<double> each(options.threads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] { each[t] = run_case(c, options, seed + t); });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double ns : each) sum += ns;
  return sum / options.threads;
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("batches", options);
  const std::vector<size_t> sizes =
      options.size != 0 ? std::vector<size_t>{options.size} : std::vector<size_t>{16, 64, 256, 1024, 4096, kMixed};
  for (const char* order : {"lifo", "fifo", "random"}) {
    for (const size_t size : sizes) {
      for (const size_t batch : {100, 1000, 10000}) {
        std::vector<double> rounds;
        for (unsigned r = 0; r < options.rounds; ++r) {
          rounds.push_back(run_threads({order, size, static_cast<size_t>(batch)}, options, options.seed + r));
        }
        const std::string name = size == kMixed ? "mixed" : std::to_string(size);
        report.add_median(std::string(order) + "/" + name + "/" + std::to_string(batch), rounds, "ns");
      }
    }
  }
  report.print();
}
