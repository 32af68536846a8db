// RealTimeParts: the one region of the process for threads with deadlines, and the parts that it is cut into, one for
// each thread that announces itself.
//
//   [part of a thread][part of another     ][free][part that a thread has left]     in granules, at most 256
//
//   granule g leads to part p iff p begins there or before, and ends behind
//   a part is taken by one thread (own_part == it), or left: no thread takes from it, and blocks in it are live or sent
//   a part that is left and empty goes at once, or when the next thread comes: if no free granules suffice for that
//   thread, it gets the shortest left part that does, with the blocks that are live in it
//
// In the child of a fork the parts of the parent's other threads are lost: what these were doing is half done, so that
// the child's threads send blocks there and never take them home.
//
// contains() and part_at() are for any thread, O(1), without a loop or a lock; the others take the lock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "cell/real_time_memory.h"
#include "realtime/thread_part.h"
#include "span/footprint.h"

namespace snug {

struct RealTimeFigures {
  size_t bytes = 0;  // of the region; 0: there is none
  bool locked = false;
  size_t threads = 0;  // that are announced
  size_t parts = 0;    // that they have, or threads have left with blocks in them
  size_t bytes_in_parts = 0;
  uint64_t refusals = 0;         // requests for which the thread's part had no room
  uint64_t threads_refused = 0;  // threads for which the region had no room
};

class RealTimeParts {
 public:
  static constexpr size_t kLeastBytes = size_t{1} << 20;
  // A thread that names no size gets one part in so many of the region.
  static constexpr size_t kUsualParts = 16;

  explicit constexpr RealTimeParts(Footprint& footprint) : footprint_(footprint) {}

  // Maps the region, backed and, if the process may, locked. 0; or EINVAL for less than the least, EALREADY, ENOMEM:
  // the OS refuses, or the limit on the footprint, in which it counts from then on.
  int make(size_t bytes);
  bool is_made() const { return bytes_.load(kRelaxed) != 0; }
  // With SNUG_CONF=profile_rt threads announce themselves by their scheduling policy.
  void watch_policies() { watches_policies_.store(true, kRelaxed); }
  bool watches_policies() const { return watches_policies_.load(kRelaxed); }

  bool contains(const void* address) const {
    const size_t bytes = bytes_.load(kAcquire);
    return address_of(address) - start_.load(kRelaxed) < bytes;
  }
  // For an address that the region contains; null where no part is.
  ThreadPart* part_at(const void* address) const {
    const size_t granule = (address_of(address) - start_.load(kRelaxed)) >> granule_log_;
    return granules_[granule].load(kRelaxed);
  }

  // Gives the calling thread a part of `bytes`, its record included, rounded up; 0: the usual. 0; or EALREADY if it has
  // one, EINVAL without a region, ENOMEM. O(parts + blocks that were sent).
  int enter(size_t bytes);
  // The calling thread has a part.
  void leave();

  RealTimeFigures figures();
  // `all`: of parts of other threads too, none of which is running. Null, or the broken invariant.
  const char* check(bool all);

  Lock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }
  // In the child of a fork, under the lock.
  void lose_others();

 private:
  static constexpr size_t kGranules = 256;
  static constexpr size_t kMostParts = 64;
  static constexpr size_t kLeastGranule = kLeastBytes / kUsualParts;

  enum class State : uint8_t { kNone, kTaken, kLeft, kLost };
  struct Place {
    State state = State::kNone;
    size_t first = 0;  // granule
    size_t count = 0;
    ThreadPart* part = nullptr;
  };

  size_t granule() const { return size_t{1} << granule_log_; }
  bool lies_free(size_t first, size_t count) const SNUG_REQUIRES(lock_);
  // Makes the place's granules lead to the part, or to none, for threads that look without the lock.
  void lead(const Place& place, ThreadPart* part) SNUG_REQUIRES(lock_);
  Place* new_part(size_t count) SNUG_REQUIRES(lock_);
  Place* left_part(size_t count) SNUG_REQUIRES(lock_);
  void drop_if_empty(Place& place) SNUG_REQUIRES(lock_);
  // The parts that threads have left, as far as what was inside is freed.
  void drop_left() SNUG_REQUIRES(lock_);

  Atomic<uintptr_t> start_{0};
  Atomic<size_t> bytes_{0};
  unsigned granule_log_ = 0;
  Atomic<bool> watches_policies_{false};
  Atomic<ThreadPart*> granules_[kGranules] = {};
  Footprint& footprint_;
  Lock lock_;
  RealTimeMemory memory_ SNUG_GUARDED_BY(lock_);
  uintptr_t secret_ SNUG_GUARDED_BY(lock_) = 0;
  uint64_t refusals_ SNUG_GUARDED_BY(lock_) = 0;  // of parts that are gone
  uint64_t threads_refused_ SNUG_GUARDED_BY(lock_) = 0;
  Place places_[kMostParts] SNUG_GUARDED_BY(lock_);
};

// The calling thread's part; null unless it is announced.
SNUG_HIDDEN SNUG_INITIAL_EXEC extern constinit thread_local ThreadPart* own_part;

}  // namespace snug
