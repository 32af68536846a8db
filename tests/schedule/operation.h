// Operation: what a thread is about to do to shared memory; Footprint: which locations that reads and writes.
//
// Two steps with independent footprints lead to the same state in either order, and neither enables or disables the
// other. All reduction of the search relies on that, so a footprint errs on the side of more.
#pragma once

#include "base/atomic.h"

#include <atomic>
#include <cstdint>
#include <source_location>

namespace snug::schedule {

inline constexpr unsigned kMaxThreads = 4;
inline constexpr unsigned kMaxLocations = 62;  // atomics alive or dead in one run: a bit each in a footprint

enum class Kind : uint8_t {
  kLoad,
  kStore,
  kExchange,
  kCompareExchange,
  kFetch,
  kFence,
  kLightFence,
  kMembarrier,
  kFork,
  kYield,
  kPause,
  kFutexWait,
  kFutexWoken,  // the second half of a wait: going on after the sleep
  kFutexTimed,  // the same of a wait with a time: at any moment, woken or not
  kFutexWake,
};

struct Operation {
  Kind kind = Kind::kFence;
  uint8_t location = 0;
  MemoryOrder order = kSeqCst;
  std::source_location where;
  MemoryOrder failure = kRelaxed;  // of a compare_exchange that fails

  bool is_update() const { return kind == Kind::kExchange || kind == Kind::kCompareExchange || kind == Kind::kFetch; }
};

struct Footprint {
  // Beside the locations: the order of all seq_cst operations where that is a thing of its own, and being interrupted
  // by a membarrier, which every step is.
  static constexpr uint64_t kSeqCst = uint64_t{1} << 62;
  static constexpr uint64_t kInterrupt = uint64_t{1} << 63;

  uint64_t reads = kInterrupt;
  uint64_t writes = 0;

  bool is_independent_of(const Footprint& other) const {
    return ((writes & (other.reads | other.writes)) | (reads & other.writes)) == 0;
  }
};

}  // namespace snug::schedule
