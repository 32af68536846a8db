// SoftLimit: how much memory may be held before the program is asked to free some, and when it is asked again: once a
// 64th of the limit more is held than after the last answer, or the limit is passed anew.
//
// Thread-safe, without a lock. A template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/std_atomics.h"

namespace snug {

template <class Atomics = StdAtomics>
class BasicSoftLimit {
 public:
  // The part of the limit, one in so many, between two calls for an answer. With half of it a program that cannot free
  // is asked twice as often; with twice of it it holds a 32nd of the limit more before it is asked again.
  static constexpr size_t kPartAsked = 64;

  // SIZE_MAX for none.
  size_t bytes() const { return bytes_.load(kRelaxed); }
  void begin(size_t bytes) {
    bytes_.store(bytes, kRelaxed);
    mark_.store(bytes, kRelaxed);
    is_passed_.store(false, kRelaxed);
  }
  // Changes the limit while so much is held. What was answered for is not asked for again.
  void set(size_t bytes, size_t held) {
    const bool was_passed = held > this->bytes() && held > bytes;
    bytes_.store(bytes, kRelaxed);
    mark_.store(was_passed ? max(mark_.load(kRelaxed), bytes) : bytes, kRelaxed);
    note(held);
  }
  // So much is held now.
  void note(size_t held) {
    if (held > mark_.load(kRelaxed)) [[unlikely]]
      is_passed_.store(true, kRelease);
  }
  bool is_passed() const { return is_passed_.load(kRelaxed); }
  // True for one thread, which calls answered() once it has done what it can.
  bool claim() { return is_passed() && is_passed_.exchange(false, kAcquire); }
  void answered(size_t held) {
    const size_t limit = bytes();
    mark_.store(held <= limit ? limit : held + min(SIZE_MAX - held, limit / kPartAsked), kRelaxed);
  }

 private:
  typename Atomics::template Atomic<size_t> bytes_{SIZE_MAX};
  typename Atomics::template Atomic<size_t> mark_{SIZE_MAX};
  typename Atomics::template Atomic<bool> is_passed_{false};
};
using SoftLimit = BasicSoftLimit<>;

}  // namespace snug
