// OptionalLock: a lock that does nothing while a heap has one thread, and that counts how often a thread had to wait
// for it. SharedOptionalLock: the same for what all classes share; as under a SharedLock, no system call happens under
// it.
#pragma once

#include <stdint.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/pair.h"

namespace snug {

template <class LockType>
class SNUG_LOCKABLE BasicOptionalLock {
 public:
  // Before any other use by several threads.
  void share() { is_shared_ = true; }
  bool is_shared() const { return is_shared_; }

  void lock() SNUG_ACQUIRE() SNUG_UNPROVED {
    if (is_shared_) lock_shared();
  }
  void unlock() SNUG_RELEASE() SNUG_UNPROVED {
    if (is_shared_) lock_.unlock();
  }
  // For Clang's analysis, as Lock::assume_held().
  void assume_held() const SNUG_ASSUMES(this) {}
  uint64_t waits() const { return waits_.load(kRelaxed); }

 private:
  void lock_shared() SNUG_ACQUIRE(lock_) {
    if (lock_.try_lock()) [[likely]]
      return;
    waits_.fetch_add(1, kRelaxed);
    lock_.lock();
  }

  Atomic<uint64_t> waits_{0};
  LockType lock_;
  bool is_shared_ = false;
};

using OptionalLock = BasicOptionalLock<Lock>;
using SharedOptionalLock = BasicOptionalLock<SharedLock>;
using OptionalLockGuard = LockGuard<OptionalLock>;
using SharedOptionalLockGuard = LockGuard<SharedOptionalLock>;

// Takes the lock that guards an object that moves; returns the lock and the object's place. find() returns the place,
// lock_of(place) the lock that guards it. Both are called without the lock first, so that the object may leave between
// the calls, and its place get another owner. Under a lock none of its places comes or goes: if the place has that
// lock, and the object is still there afterwards, the lock is the right one. But `nobodys` is also the lock of places
// without an owner, and these come and go: the object could leave, its place have no owner when lock_of() reads it, and
// the object come back before the last find(). So with that lock all calls are made under `hands`, the lock under which
// places change owners. A place that another heap owns, and no slab covers, may show any lock: the case that the object
// leaves and comes back between two reads of one thread, twice, and its place is such a one meanwhile, is not excluded.
// `hands` would exclude it, at the price of a lock of all classes for each block that is freed or pinned.
template <class Find, class LockOf, class AnyLock, class Hands>
auto lock_place_of(Find find, LockOf lock_of, const AnyLock& nobodys, Hands& hands) SNUG_UNPROVED {
  for (;;) {
    auto& lock = lock_of(find());
    lock.lock();
    const bool may_be_nobodys = &lock == &nobodys;
    if (may_be_nobodys) hands.lock();
    const auto place = find();
    const bool is_settled = &lock_of(place) == &lock && find() == place;
    if (may_be_nobodys) hands.unlock();
    if (is_settled) return Pair{&lock, place};
    lock.unlock();
  }
}

}  // namespace snug
