// PerHome: one T for each home (span/span_stores.h), so that the threads of many processors do not all wait for one
// lock. The first lies in place, any other is made when it is first asked for; where the OS refuses memory for that,
// the first serves.
//
// Thread-safe. T is made of the arena, and takes what another T has given out.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/in_place.h"
#include "base/lock.h"
#include "span/meta_arena.h"
#include "span/span_stores.h"

namespace snug {

template <class T>
class PerHome {
 public:
  explicit constexpr PerHome(MetaArena& arena) : arena_(arena), first_(arena) {}

  constexpr T& first() { return first_; }
  // O(1). The caller holds no lock of a T.
  T& at(uint8_t home) {
    if (home == 0) return first_;
    T* const other = others_[home - 1].load(kAcquire);
    return other != nullptr ? *other : make(others_[home - 1]);
  }

  // For a fork.
  void lock_for_fork() SNUG_UNPROVED {
    making_.lock_for_fork();
    for_each([](T& one) SNUG_UNPROVED { one.lock().lock_for_fork(); });
  }
  void unlock_after_fork() SNUG_UNPROVED {
    for_each([](T& one) SNUG_UNPROVED { one.lock().unlock_after_fork(); });
    making_.unlock_after_fork();
  }

 private:
  T& make(Atomic<T*>& place) {
    const LockGuard guard(making_);
    if (T* const other = place.load(kRelaxed); other != nullptr) return *other;
    void* const memory = arena_.allocate(sizeof(T));
    if (memory == nullptr) return first_;
    T* const made = ::new (InPlace{memory}) T(arena_);
    hold_with(making_, made->lock());
    place.store(made, kRelease);
    return *made;
  }
  template <class Act>
  void for_each(Act act) {
    act(first_);
    for (const Atomic<T*>& other : others_)
      if (T* const one = other.load(kAcquire); one != nullptr) act(*one);
  }

  MetaArena& arena_;
  Atomic<T*> others_[SpanStores::kMost - 1] = {};
  SharedLock making_;
  T first_;
};

}  // namespace snug
