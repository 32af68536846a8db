// ForkOrder: takes all locks around a fork, in the one order in which any thread takes several of them.
//
//   list of streams ─► opening ─► the background thread's hands ─► thread cache list ─► heaps ─► heap table ─►
//   user heaps ─► mapping store ─► span stores ─► array stores ─► arena
//
// Behind these the allocator takes the locks of the quarantine (checked/quarantine.h), the guarded pages, the heap
// profile (profile/heap_profile.h), the callbacks (allocator/pressure.h), deferred frees and the real-time parts
// (realtime/), under which no thread takes another part's lock.
//
// The fork waits for operations of several holds (a heap that changes owners, a span detached): the thread in one needs
// only locks that come later. libc takes the lock of its list of streams between our handlers and the fork, so that it
// comes first (os/open_streams.h). While all are held, lock() still succeeds for the forking thread alone, so that
// other libraries' fork handlers can allocate.
//
// The peak's lock is taken by none: the child makes it anew (allocator/peak.h). The user heaps' locks are eight kinds,
// in the order of heap/user_heaps.h.
// A process that has one thread and no background thread takes none of these (Allocator::before_fork).
//
// It is a template over the allocator so that tests/schedule can run it in every order of its steps
// (fork_proof_test.cpp): that fails if two of cache list, heaps and span store are exchanged, or the streams come last.
// The hands, user heaps, mapping store and arrays are stubs there: for these the order stands here and on
// docs/architecture/processes.md alone. No thread holds a lock of a part that is not open.
#pragma once

#include "base/lock_annotations.h"

namespace snug {

template <class Allocator>
class ForkOrder {
 public:
  static void before(Allocator& allocator) SNUG_UNPROVED {
    Allocator::Streams::lock();
    // Our first lock makes forks of several threads take turns: the forking thread is the one that holds it.
    allocator.opening_.lock();
    Allocator::ForkLock::begin_fork();
    allocator.opening_.hold_for_fork();
    allocator.background.before_fork();
    allocator.background.wait_for_empty_hands();
    if (!allocator.is_open()) return;
    allocator.caches.lock_at_rest();
    allocator.registry.lock_all();
    allocator.user_heaps.lock_all();
    allocator.mappings.lock_at_rest();
    allocator.spans.lock_at_rest();
    allocator.arrays.lock_for_fork();
    allocator.arena.lock().lock_for_fork();
  }

  static void after_in_parent(Allocator& allocator) SNUG_UNPROVED {
    allocator.background.after_fork_in_parent();
    unlock(allocator);
    Allocator::Streams::unlock();
  }

  static void after_in_child(Allocator& allocator) SNUG_UNPROVED {
    allocator.background.after_fork_in_child();
    if (allocator.is_open()) allocator.user_heaps.drop_other_threads();
    unlock(allocator);
    Allocator::Streams::reset();
  }

 private:
  static void unlock(Allocator& allocator) SNUG_UNPROVED {
    if (allocator.is_open()) {
      allocator.arena.lock().unlock_after_fork();
      allocator.arrays.unlock_after_fork();
      allocator.spans.unlock_after_fork();
      allocator.mappings.unlock_after_fork();
      allocator.user_heaps.unlock_all();
      allocator.registry.unlock_all();
      allocator.caches.unlock_after_fork();
    }
    Allocator::ForkLock::end_fork();
    allocator.opening_.unlock_after_fork();
  }
};

}  // namespace snug
