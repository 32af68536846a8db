// Footprint: the bytes of memory that the stores hold of the OS, and the two limits on them.
//
// What is held may be in memory for all that the stores know: pages of live spans and runs, empty ones that have not
// gone back, large blocks as far as they were handed out, and records. A page that goes back out of a slab in use still
// counts: its slab may write there at any time, and asks no store before.
//
// A store takes bytes before it hands them out, and gives them after the OS has them: so the sum is never less than
// what the stores count themselves, and beyond the limit only by records.
//
// Thread-safe, without a lock; any lock may be held. A store that asks the OS for memory pays one atomic addition. A
// template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/std_atomics.h"
#include "base/units.h"
#include "span/meta_arena.h"
#include "span/soft_limit.h"

namespace snug {

template <class Atomics, class Records>
class BasicFootprint {
 public:
  explicit constexpr BasicFootprint(const Records& records) : records_(records) {}

  // Counts bytes that a store is about to take. False, and nothing has changed, if that would exceed the limit.
  // What the request tries next, in order, up to ENOMEM: insist() in allocator/refusal.h.
  bool take(size_t bytes) {
    if (bytes == 0) return true;
    const size_t limit = limit_.load(kRelaxed);
    if (limit == SIZE_MAX) [[likely]] {
      take_anyway(bytes);
      return true;
    }
    const size_t most = limit - min(limit, records_.bytes_held());
    size_t taken = taken_.load(kRelaxed);
    do {
      if (bytes > most || taken > most - bytes) {
        refusals_.fetch_add(1, kRelaxed);
        return false;
      }
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, kAcqRel, kRelaxed));
    note();
    return true;
  }
  // False if it would be so now.
  bool has_room(size_t bytes) const {
    const size_t limit = limit_.load(kRelaxed);
    return limit == SIZE_MAX || (bytes <= limit && held() <= limit - bytes);
  }
  // Counts what cannot be done without.
  void take_anyway(size_t bytes) {
    taken_.fetch_add(bytes, kAcqRel);
    note();
  }
  void give(size_t bytes) {
    taken_.fetch_sub(bytes, kAcqRel);
    if (soft_limit_.is_set()) soft_limit_.note_less(held());
  }

  size_t held() const { return taken_.load(kRelaxed) + records_.bytes_held(); }
  // How often the limit has refused.
  uint32_t refusals() const { return refusals_.load(kRelaxed); }
  // For SoftLimit::answered(): no older value than any other thread has seen, and each thread that changes it later
  // sees what the caller did before.
  size_t held_now() { return taken_.fetch_add(0, kAcqRel) + records_.bytes_held(); }
  // SIZE_MAX for none.
  size_t limit() const { return limit_.load(kRelaxed); }
  BasicSoftLimit<Atomics>& soft_limit() { return soft_limit_; }
  // One thread at a time. What is held already stays; what is empty of it goes as more is asked for.
  void set_limits(size_t soft_limit, size_t limit) {
    limit_.store(limit, kRelaxed);
    soft_limit_.set(soft_limit, held());
  }

 private:
  void note() {
    if (soft_limit_.is_set()) soft_limit_.note(held());
  }

  const Records& records_;
  alignas(kCacheLine) typename Atomics::template Atomic<size_t> taken_{0};
  // These are read with each change of the above, and by every slow operation, and seldom written.
  alignas(kCacheLine) typename Atomics::template Atomic<size_t> limit_{SIZE_MAX};
  BasicSoftLimit<Atomics> soft_limit_;
  typename Atomics::template Atomic<uint32_t> refusals_{0};
};
using Footprint = BasicFootprint<StdAtomics, MetaArena>;

}  // namespace snug
