// Slots through which blocks change hands between threads. A block and its size are one word, address | size << 48, so
// that one exchange moves both; 0: none.
#pragma once

#include <atomic>

#include "workload.h"

namespace workload {

class Sized {
 public:
  static constexpr size_t kSizeLimit = 1 << 16;

  Sized() = default;
  static Sized take(size_t size) {
    if (size >= kSizeLimit) fail("--size: less than 65536, please");
    return Sized(reinterpret_cast<uintptr_t>(::workload::take(size)) | static_cast<uint64_t>(size) << kSizeShift);
  }
  void give(Sampler& sampler) const {
    if (word_ != 0) sampler.give(reinterpret_cast<void*>(word_ & kAddress), word_ >> kSizeShift);
  }

 private:
  static constexpr unsigned kSizeShift = 48;
  static constexpr uint64_t kAddress = (uint64_t{1} << kSizeShift) - 1;

  explicit Sized(uint64_t word) : word_(word) {}

  uint64_t word_ = 0;
};

using Slot = std::atomic<Sized>;
static_assert(Slot::is_always_lock_free);

}  // namespace workload
