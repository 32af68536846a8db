// OwnerHold: a stretch in which a thread of the heap works on it; the heap's mail is opened first. The thread holds the
// heap's lock, unless the process has only one thread. Whether it has only one is asked once, at the beginning: that
// does not change during a hold, since a hold starts and joins no thread, and the thread that starts or joins another
// is then in no hold. If it were asked again at the end, a thread could drop a lock that it has not taken.
//
// It is a template over heap and process so that tests/schedule can run it in every order of its steps. The heap has
// lock(), begin_hold(), end_hold(), and the atomic flag is_owner_in_, which the thread's signal handlers read.
#pragma once

#include "base/atomic.h"
#include "base/lock_annotations.h"

namespace snug {

template <class Heap, class Process>
class SNUG_SCOPED_LOCK OwnerHold {
 public:
  explicit OwnerHold(Heap& heap) SNUG_ACQUIRE(heap.lock()) SNUG_UNPROVED : heap_(heap),
                                                                           is_locked_(!Process::is_single_threaded()) {
    if (is_locked_) heap_.lock().lock();
    heap_.is_owner_in_.store(true, kRelaxed);
    // A signal handler sees the flag set before any change that follows, and cleared only after all of them.
    compiler_fence(kSeqCst);
    heap_.begin_hold();
  }
  ~OwnerHold() SNUG_RELEASE() SNUG_UNPROVED {
    heap_.is_owner_in_.store(false, kRelease);
    if (is_locked_) heap_.end_hold();
  }
  OwnerHold(const OwnerHold&) = delete;
  OwnerHold& operator=(const OwnerHold&) = delete;

  // True if the calling thread, an owner of the heap, is in a hold without the lock. Then no visit may come: its
  // try_lock() would succeed in the midst of the hold. For SlabHeap::deliver.
  static bool is_in_without_lock(const Heap& heap) {
    return Process::is_single_threaded() && heap.is_owner_in_.load(kRelaxed);
  }

 private:
  Heap& heap_;
  const bool is_locked_;
};

}  // namespace snug
