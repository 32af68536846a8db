// producer_consumer: half of the threads allocate batches of 120 blocks, the other half free them. Every free is
// remote. Stresses the way of blocks back to their owner. Resembles xmalloc-test.
#include "workload.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace workload {
namespace {

constexpr size_t kBatch = 120;
constexpr size_t kDepth = 64;

struct Parcel {
  void* blocks[kBatch];
  size_t size;
};

// Parcels circulate: the full ones to the consumers, the empty ones back. They are not of the heap under test.
class Exchange {
 public:
  void put(Parcel* parcel) {
    const std::lock_guard lock(mutex_);
    parcels_[count_++] = parcel;
    available_.notify_one();
  }
  Parcel* take() {
    std::unique_lock lock(mutex_);
    available_.wait(lock, [this] { return count_ != 0; });
    return parcels_[--count_];
  }

 private:
  std::mutex mutex_;
  std::condition_variable available_;
  Parcel* parcels_[kDepth * 2];
  size_t count_ = 0;
};

double run(unsigned pairs, size_t size, const Options& options) {
  Array<Parcel> parcels(kDepth);
  Exchange full;
  Exchange empty;
  for (Parcel& parcel : parcels) empty.put(&parcel);
  const size_t batches = scaled(options, 40'000);  // of each producer
  std::vector<std::thread> threads;
  const double start = now_ns();
  for (unsigned p = 0; p < pairs; ++p) {
    threads.emplace_back([&, p] {
      Random random(options.seed + p);
      for (size_t i = 0; i < batches; ++i) {
        Parcel* const parcel = empty.take();
        parcel->size = size != 0 ? size : random.log_between(16, 1024);
        for (void*& block : parcel->blocks) block = ::workload::take(parcel->size);
        full.put(parcel);
      }
    });
    threads.emplace_back([&] {
      Sampler sampler(options.verify);
      for (size_t i = 0; i < batches; ++i) {
        Parcel* const parcel = full.take();
        for (void* block : parcel->blocks) sampler.give(block, parcel->size);
        empty.put(parcel);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return (now_ns() - start) / static_cast<double>(batches * kBatch * pairs);
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  Options defaults;
  defaults.threads = 2;
  const Options options = parse_options(argc, argv, defaults);
  Report report("producer_consumer", options);
  const std::vector<size_t> sizes =
      options.size != 0 ? std::vector<size_t>{options.size} : std::vector<size_t>{64, 512, 0};
  for (const size_t size : sizes) {
    std::vector<double> rounds;
    for (unsigned r = 0; r < options.rounds; ++r)
      rounds.push_back(run(std::max(1u, options.threads / 2), size, options));
    report.add_median(size == 0 ? "mixed" : std::to_string(size), rounds, "ns");
  }
  report.print();
}
