// Mailbox: what others have for a heap, and the lock that guards the heap. Its owner is any of the threads that have
// it. Items wait in a stack that many push to and the lock's holder empties whole, so that there is no ABA problem; and
// a bit says whether the owner is expected to look.
//
//   attended     the owner comes by soon: the first to post leaves his item to it; whoever then finds an item waiting
//                visits, and leaves the heap
//   unattended   whoever has something for the heap visits, until the owner comes by
//
// A thread that holds another heap's lock may visit: it tries the lock, never waits. If the lock is taken it posts, and
// relies on the holder, who looks once more after giving the lock back:
//
//   an item is opened by the owner's next hold, by the next visit, or by whoever held the lock when it was posted;
//   in an unattended heap whose lock is free, and that nobody is about to look at again, no item waits
//
// For the holder to see what was posted, a lock that is found taken and one that is given back are ordered with the
// look into the mailbox: both of the lock's operations and has_mail() are sequentially consistent.
//
// One hold opens a bounded number of items, since others may be waiting for the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/at_a_time.h"
#include "base/bits.h"

namespace snug {

// Item has a member `next`, which is the mailbox's from post() until the item is opened, and is aligned to 2 at least.
template <class Item, class Atomics, class LockType>
class Mailbox {
 public:
  LockType& lock() { return lock_; }

  // Any thread.

  // True if a sender should visit: an item waits already, or the owner is not expected.
  bool wants_senders() const { return head_.load(std::memory_order_relaxed) != 0; }
  bool has_mail() const { return (head_.load(std::memory_order_seq_cst) & ~kUnattended) != 0; }
  // The caller has found the lock taken, or the owner expected; afterwards it must look_again().
  void post(Item* item) {
    uintptr_t head = head_.load(std::memory_order_relaxed);
    do item->next = at<Item>(head & ~kUnattended);
    while (!head_.compare_exchange_weak(head, address_of(item) | (head & kUnattended), std::memory_order_release,
                                        std::memory_order_relaxed));
  }
  // Opens what has come to an unattended heap, unless somebody holds the lock, who then does. The caller does not hold
  // it.
  template <class Open>
  void look_again(Open open) {
    if ((head_.load(std::memory_order_relaxed) & kUnattended) != 0 && has_mail() && try_visit(open)) end_visit(open);
  }

  // A visit, by any thread but the owner.
  template <class Open>
  bool try_visit(Open open) {
    if (!lock_.try_lock()) return false;
    open_for_another(open);
    return true;
  }
  template <class Open>
  void begin_visit(Open open) {
    lock_.lock();
    open_for_another(open);
  }
  template <class Open>
  void end_visit(Open open) {
    for (;;) {
      const bool more = unopened_ != nullptr;
      lock_.unlock();
      if ((!more && !has_mail()) || !lock_.try_lock()) return;
      open_for_another(open);
    }
  }

  // A hold by the owner, who may go without the lock if there is no other thread.
  template <class Open>
  void begin_hold(Open open) {
    if (wants_senders()) open_for_owner(open);
  }
  template <class Open>
  void end_hold(Open open) {
    lock_.unlock();
    if (!has_mail() || !lock_.try_lock()) return;
    open_for_owner(open);
    lock_.unlock();
  }

  // The holder of the lock, from here on.

  template <class Open>
  void open_all(Open open) {
    while (unopened_ != nullptr || has_mail()) open_for_another(open);
  }
  // The owner is not to be expected.
  void leave_unattended() { head_.fetch_or(kUnattended, std::memory_order_relaxed); }

 private:
  static constexpr uintptr_t kUnattended = 1;

  Item* take_all(uintptr_t after) { return at<Item>(head_.exchange(after, std::memory_order_acquire) & ~kUnattended); }

  template <class Open>
  void open_for_owner(Open open) {
    if (unopened_ == nullptr) unopened_ = take_all(0);
    open_some(open);
  }
  template <class Open>
  void open_for_another(Open open) {
    if (unopened_ == nullptr && has_mail()) unopened_ = take_all(kUnattended);
    open_some(open);
  }
  // What is left over is for whoever comes next.
  template <class Open>
  void open_some(Open open) {
    for (size_t opened = 0; unopened_ != nullptr; ++opened) {
      if (opened == kAtATime) return leave_unattended();
      Item* item = unopened_;
      unopened_ = item->next;
      open(*item);
    }
  }

  LockType lock_;
  typename Atomics::template Atomic<uintptr_t> head_{kUnattended};
  typename Atomics::template Var<Item*> unopened_{nullptr};  // taken and not opened yet
};

}  // namespace snug
