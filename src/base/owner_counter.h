// A count that one thread at a time changes and any thread reads: plain additions, no locked instruction.
#pragma once

#include <atomic>
#include <cstdint>

namespace snug {

class OwnerCounter {
 public:
  void add(uint64_t amount) { value_.store(get() + amount, std::memory_order_relaxed); }
  void subtract(uint64_t amount) { value_.store(get() - amount, std::memory_order_relaxed); }
  void reset() { value_.store(0, std::memory_order_relaxed); }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace snug
