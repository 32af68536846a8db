// SoftLimit: how much memory may be held before the program is asked to free some, and when it is asked again: once a
// 64th of the limit more is held than after the last answer, or the limit is passed anew.
//
//   nothing due ──note──► passed ──claim──► answered for by one thread ──answered──► nothing due, or passed
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
  bool is_set() const { return mark_.load(kRelaxed) != SIZE_MAX; }
  // While no other thread uses it.
  void begin(size_t bytes) {
    bytes_.store(bytes, kRelaxed);
    mark_.store(bytes, kRelaxed);
    state_.store(kNothing, kRelaxed);
  }
  // Changes the limit while so much is held; one thread at a time. What was answered for is not asked for again.
  void set(size_t bytes, size_t held) {
    const bool was_passed = held > this->bytes() && held > bytes;
    bytes_.store(bytes, kRelaxed);
    mark_.store(was_passed ? max(mark_.load(kRelaxed), bytes) : bytes, kRelaxed);
    note(held);
  }
  // So much is held now, and it was less.
  void note(size_t held) {
    if (held <= mark_.load(kRelaxed)) [[likely]]
      return;
    State expected = kNothing;
    state_.compare_exchange_strong(expected, kPassed, kRelease, kRelaxed);
  }
  // So much is held now, and it was more: below the limit it may be passed anew.
  void note_less(size_t held) {
    const size_t limit = bytes();
    if (mark_.load(kRelaxed) != limit && held <= limit) [[unlikely]]
      mark_.store(limit, kRelaxed);
  }
  bool is_passed() const { return state_.load(kRelaxed) == kPassed; }
  // True for one thread, which does what it can and then calls answered(). Until then no other is called for.
  bool claim() {
    State expected = kPassed;
    return is_passed() && state_.compare_exchange_strong(expected, kClaimed, kAcquire, kRelaxed);
  }
  // `held`: asks how much is held. What was taken meanwhile is looked at last, so that it is not missed.
  template <class AskHeld>
  void answered(AskHeld held) {
    const size_t limit = bytes();
    const size_t now = held();
    mark_.store(now <= limit ? limit : now + min(SIZE_MAX - now, limit / kPartAsked));
    state_.store(kNothing);
    const size_t last = held();
    note_less(last);
    note(last);
  }
  // In the child of a fork: a thread that has claimed it is not here, or will answer all the same.
  void after_fork() {
    State expected = kClaimed;
    state_.compare_exchange_strong(expected, kPassed, kRelaxed, kRelaxed);
  }
  // True if no answer is due for so much.
  bool covers(size_t held) const { return held <= mark_.load(kRelaxed); }

 private:
  enum State : uint32_t { kNothing, kPassed, kClaimed };

  typename Atomics::template Atomic<size_t> bytes_{SIZE_MAX};
  typename Atomics::template Atomic<size_t> mark_{SIZE_MAX};
  typename Atomics::template Atomic<State> state_{kNothing};
};
using SoftLimit = BasicSoftLimit<>;

}  // namespace snug
