// Small protocols over an atomics policy, each the least that shows one kind of mistake: what the scheduler's own tests
// prove and break, and examples for tests of real ones.
#pragma once

#include "base/atomic.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace snug::schedule {

// One thread gives a value to another.
template <class Atomics>
class HandOver {
 public:
  void give(int value) {
    value_ = value;
    is_there_.store(true, kRelease);
  }
  int take() {
    while (!is_there_.load(kAcquire)) Atomics::cpu_relax();
    return value_;
  }

 private:
  typename Atomics::template Var<int> value_{0};
  typename Atomics::template Atomic<bool> is_there_{false};
};

// Mutual exclusion of two threads by loads, stores and fences alone, as it is right on x86-64. By the language's rules
// it is not: a thread that finds lock_ given to it may have read it before the other entered, and that one's unlock()
// late.
template <class Atomics>
class PetersonLock {
 public:
  void lock(int self) {
    wants_[self].store(true, kRelaxed);
    lock_.store(1 - self, kRelease);
    Atomics::fence(kSeqCst);
    while (wants_[1 - self].load(kAcquire) && lock_.load(kAcquire) != self) {
      Atomics::cpu_relax();
    }
  }
  void unlock(int self) { wants_[self].store(false, kRelease); }

 private:
  typename Atomics::template Atomic<bool> wants_[2]{false, false};
  typename Atomics::template Atomic<int> lock_{0};
};

// At most one is inside: an owner, which enters often and cheaply, or a visitor, which may pay more.
template <class Atomics>
class AsymmetricDoor {
 public:
  bool enter_as_owner() {
    owner_.store(true, kRelaxed);
    Atomics::light_fence();
    if (!visitor_.load(kAcquire)) return true;
    leave_as_owner();
    return false;
  }
  void leave_as_owner() { owner_.store(false, kRelease); }

  bool enter_as_visitor() {
    visitor_.store(true, kRelaxed);
    Atomics::membarrier();
    if (!owner_.load(kAcquire)) return true;
    leave_as_visitor();
    return false;
  }
  void leave_as_visitor() { visitor_.store(false, kRelease); }

 private:
  typename Atomics::template Atomic<bool> owner_{false};
  typename Atomics::template Atomic<bool> visitor_{false};
};

// A stack of numbered nodes. The head holds a node's number + 1, and with tags how often it was changed.
enum class Tags : uint32_t { kNone = 0, kCounted = 16 };

template <class Atomics, Tags kTags>
class NodeStack {
 public:
  static constexpr uint32_t kNodes = 3, kNothing = 0;

  // Numbers are 1 to kNodes.
  void push(uint32_t node) {
    uint32_t head = head_.load(kRelaxed);
    do next_[node].store(number_in(head), kRelaxed);
    while (!head_.compare_exchange_weak(head, successor(head, node), kRelease, kRelaxed));
  }
  uint32_t pop() {
    uint32_t head = head_.load(kAcquire);
    while (number_in(head) != kNothing) {
      const uint32_t next = next_[number_in(head)].load(kRelaxed);
      if (head_.compare_exchange_weak(head, successor(head, next), kAcquire, kAcquire)) {
        return number_in(head);
      }
    }
    return kNothing;
  }

 private:
  static constexpr uint32_t kTagBit = uint32_t{1} << static_cast<uint32_t>(kTags);

  static uint32_t number_in(uint32_t head) { return head & 0xffff; }
  static uint32_t successor(uint32_t head, uint32_t node) {
    return kTags == Tags::kNone ? node : (head - number_in(head) + kTagBit) | node;
  }

  typename Atomics::template Atomic<uint32_t> head_{kNothing};
  typename Atomics::template Atomic<uint32_t> next_[kNodes + 1];
};

// One thread sleeps until another notifies it.
template <class Atomics>
class Event {
 public:
  void notify() {
    if (state_.exchange(kRung, kRelease) == kAwaited) Atomics::futex_wake(state_, 1);
  }
  void wait() {
    uint32_t seen = kSilent;
    state_.compare_exchange_strong(seen, kAwaited, kRelaxed, kRelaxed);
    while (state_.load(kAcquire) != kRung) Atomics::futex_wait(state_, kAwaited);
  }

 private:
  enum State : uint32_t { kSilent, kAwaited, kRung };
  typename Atomics::template Atomic<uint32_t> state_{kSilent};
};

// Any thread puts work down, and the thread that gets the lock does it. A thread that has unlocked looks once more, so
// that no work stays that came while the lock was held.
template <class Atomics>
class Workshop {
 public:
  void put(uint32_t work) {
    waiting_.fetch_add(work, kRelaxed);
    while (waiting_.load(kSeqCst) != 0 && try_lock()) {
      done_ += waiting_.exchange(0, kRelaxed);
      is_held_.store(false, kSeqCst);
    }
  }
  // Once all threads have ended.
  uint32_t done() const { return done_; }

 private:
  bool try_lock() { return !is_held_.exchange(true, kSeqCst); }

  typename Atomics::template Atomic<uint32_t> waiting_{0};
  typename Atomics::template Atomic<bool> is_held_{false};
  typename Atomics::template Var<uint32_t> done_{0};
};

}  // namespace snug::schedule
