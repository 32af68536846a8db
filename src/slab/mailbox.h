// Mailbox: the slabs with remote frees that other threads have posted to a heap, and the lock that guards the heap. The
// heap's owner is any of its threads. Items wait in a stack that many threads push to and the lock's holder empties
// whole, so that there is no ABA problem; and a bit says whether an owner is expected to look.
//
//   attended     an owner is expected soon: the first sender posts its item and leaves it; a sender that finds an item
//                waiting visits, and the heap becomes
//   unattended   each sender visits, until an owner takes the lock
//
// A thread that holds another heap's lock may visit: it tries the lock, never waits. If the lock is taken it posts, and
// relies on the lock's holder to look once more after unlocking:
//
//   an item is opened by the owner's next hold, by the next visit, or by the thread that held the lock at the post;
//   no item waits in an unattended heap with a free lock, unless a thread is about to look at it again
//
// For the holder to see what was posted, a failed try_lock() and an unlock() are ordered with the look into the
// mailbox: both of the lock's operations and has_mail() are sequentially consistent.
//
// One hold opens a bounded number of items, since other threads may be waiting for the lock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/lock_annotations.h"

namespace snug {

// Item has a member `next`, which only the mailbox uses from post() until the item is opened; Item is aligned to 2 or
// more.
template <class Item, class Atomics, class LockType>
class Mailbox {
 public:
  LockType& lock() const SNUG_RETURNS_LOCK(lock_) { return lock_; }

  // Any thread may call the next functions.

  // True if a sender should visit: an item waits already, or the owner is not expected.
  bool wants_senders() const { return head_.load(kRelaxed) != 0; }
  bool has_mail() const { return (head_.load(kSeqCst) & ~kUnattended) != 0; }
  // Under any lock or none. Afterwards the caller must call look_again(), as the heap may be unattended and its lock
  // free, unless the caller is in a hold of this heap without the lock (slab/owner_hold.h).
  void post(Item* item) {
    uintptr_t head = head_.load(kRelaxed);
    do item->next = at<Item>(head & ~kUnattended);
    while (!head_.compare_exchange_weak(head, address_of(item) | (head & kUnattended), kRelease, kRelaxed));
  }
  // Opens the items of an unattended heap, unless a thread holds the lock, which then opens them when it unlocks. That
  // may be the caller itself: a thread that adopts slabs passes their mail on to its own heap.
  template <class Open>
  void look_again(Open open) {
    if ((head_.load(kRelaxed) & kUnattended) != 0 && has_mail() && try_visit(open)) end_visit(open);
  }

  // A visit, by any thread but an owner.
  template <class Open>
  bool try_visit(Open open) SNUG_TRY_ACQUIRE(true, lock_) {
    if (!lock_.try_lock()) return false;
    open_for_another(open);
    return true;
  }
  template <class Open>
  void begin_visit(Open open) SNUG_ACQUIRE(lock_) {
    lock_.lock();
    open_for_another(open);
  }
  template <class Open>
  void end_visit(Open open) SNUG_RELEASE(lock_) {
    for (;;) {
      const bool more = unopened_ != nullptr;
      lock_.unlock();
      if ((!more && !has_mail()) || !lock_.try_lock()) return;
      open_for_another(open);
    }
  }

  // A hold by an owner, which needs no lock while the process has no other thread.
  template <class Open>
  void begin_hold(Open open) SNUG_REQUIRES(lock_) {
    if (wants_senders()) open_for_owner(open);
  }
  template <class Open>
  void end_hold(Open open) SNUG_RELEASE(lock_) {
    lock_.unlock();
    if (!has_mail() || !lock_.try_lock()) return;
    open_for_owner(open);
    lock_.unlock();
  }

  template <class Open>
  void open_all(Open open) SNUG_REQUIRES(lock_) {
    while (unopened_ != nullptr || has_mail()) open_for_another(open);
  }
  // From now on no owner is expected to look: HeapTable::leave() calls this as the last thread ends, and each thread
  // that frees (SlabHeap::send) brings its blocks home itself, until a thread takes the heap.
  void leave_unattended() SNUG_REQUIRES(lock_) { head_.fetch_or(kUnattended, kRelaxed); }

 private:
  static constexpr uintptr_t kUnattended = 1;

  Item* take_all(uintptr_t after) { return at<Item>(head_.exchange(after, kAcquire) & ~kUnattended); }

  template <class Open>
  void open_for_owner(Open open) SNUG_REQUIRES(lock_) {
    if (unopened_ == nullptr) unopened_ = take_all(0);
    open_some(open);
  }
  template <class Open>
  void open_for_another(Open open) SNUG_REQUIRES(lock_) {
    if (unopened_ == nullptr && has_mail()) unopened_ = take_all(kUnattended);
    open_some(open);
  }
  // Opens kAtATime items at most; the next thread to take the lock opens what is left over.
  template <class Open>
  void open_some(Open open) SNUG_REQUIRES(lock_) {
    for (size_t opened = 0; unopened_ != nullptr; ++opened) {
      if (opened == kAtATime) return leave_unattended();
      Item* item = unopened_;
      unopened_ = item->next;
      open(*item);
    }
  }

  mutable LockType lock_;
  typename Atomics::template Atomic<uintptr_t> head_{kUnattended};
  typename Atomics::template Var<Item*> unopened_ SNUG_GUARDED_BY(lock_){nullptr};  // taken and not opened yet
};

}  // namespace snug
