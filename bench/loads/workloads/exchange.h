// Bundles of blocks on their way from threads that allocate them to threads that free them. Bundles circulate: the full
// ones there, the empty ones back. They are not of the heap under test.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "workload.h"

namespace workload {

constexpr size_t kMixed = 0;  // a bundle's size: another one for each bundle, 16 to 1024 B

template <size_t Batch>
struct Bundle {
  void* blocks[Batch];
  size_t size;

  void fill(size_t wanted, Random& random) {
    size = wanted != kMixed ? wanted : random.log_between(16, 1024);
    for (void*& block : blocks) block = ::workload::take(size);
  }
  void free(Sampler& sampler) {
    for (void* block : blocks) sampler.give(block, size);
  }
};

// Holds up to Depth bundles, the last one in is the first one out.
template <class Bundle, size_t Depth>
class Exchange {
 public:
  void put(Bundle* bundle) {
    const std::lock_guard lock(mutex_);
    bundles_[count_++] = bundle;
    available_.notify_one();
  }
  // Waits for one. Null if there is none and none will come any more.
  Bundle* take() {
    std::unique_lock lock(mutex_);
    available_.wait(lock, [this] { return count_ != 0 || closed_; });
    return count_ != 0 ? bundles_[--count_] : nullptr;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    available_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable available_;
  Bundle* bundles_[Depth];
  size_t count_ = 0;
  bool closed_ = false;
};

}  // namespace workload
