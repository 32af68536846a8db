// A count that one thread at a time changes and any thread reads: plain additions, no locked instruction.
#pragma once

#include <stdint.h>

#include "base/atomic.h"

namespace snug {

class OwnerCounter {
 public:
  void add(uint64_t amount) { value_.store(get() + amount, kRelaxed); }
  void subtract(uint64_t amount) { value_.store(get() - amount, kRelaxed); }
  void reset() { value_.store(0, kRelaxed); }
  uint64_t get() const { return value_.load(kRelaxed); }

 private:
  Atomic<uint64_t> value_{0};
};

}  // namespace snug
