// producer_consumer: half of the threads allocate batches of 120 blocks, the other half free them. Every free is
// remote. Stresses the way of blocks back to their owner. Resembles xmalloc-test.
#include "workload.h"

#include <condition_variable>
#include <mutex>

namespace workload {
namespace {

constexpr size_t kBatch = 120;
constexpr size_t kDepth = 64;
constexpr size_t kMixed = 0;

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

double run(unsigned pairs, size_t size, const Options& options, uint64_t seed) {
  Array<Parcel> parcels(kDepth);
  Exchange full;
  Exchange empty;
  for (Parcel& parcel : parcels) empty.put(&parcel);
  const size_t batches = scaled(options, 40'000);  // of each producer
  const auto produce = [&](unsigned p) {
    Random random(seed + p);
    for (size_t i = 0; i < batches; ++i) {
      Parcel* const parcel = empty.take();
      parcel->size = size != kMixed ? size : random.log_between(16, 1024);
      for (void*& block : parcel->blocks) block = ::workload::take(parcel->size);
      full.put(parcel);
    }
  };
  const auto consume = [&] {
    Sampler sampler(options.verify);
    for (size_t i = 0; i < batches; ++i) {
      Parcel* const parcel = full.take();
      for (void* block : parcel->blocks) sampler.give(block, parcel->size);
      empty.put(parcel);
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
