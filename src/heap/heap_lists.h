// HeapLists: all heaps that the program has made, by what they are: live, ending, or to be used anew; and a walk over
// the live ones that holds no lock of the lists while it is at a heap, which may take system calls.
//
//   a heap is in one of the lists, in that of ended ones if it can_begin;   cursor_ == the live heap to which the walk
//   comes next, or null
//
// A record of a heap is never anything else. So the walk may be at a heap that another thread ends meanwhile, or even
// makes anew: what it does there it does under the heap's lock, and to whatever heap it finds. A heap that is live from
// the walk's start to its end is met once; one that begins meanwhile is not met.
//
// Lock order: the walk -> the lists -> a heap. Thread-safe.
//
// It is a template so that tests/schedule can run it in every order of its steps (user_heaps_proof_test.cpp).
#pragma once

#include "base/fixed_array.h"
#include "base/fork_gate.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/std_atomics.h"

namespace snug {

// Calls act(heap) under the lock of the cache's heap, unless the heap was destroyed; `under(heap, act)` takes it. The
// cache's thread alone calls this: what it reads without the lock may be a heap that another thread destroys at this
// moment, and makes anew for others, so that it looks again. The thread that destroys a heap takes it from its caches
// under the same lock.
template <class Cache, class Under, class Act>
void if_bound(Cache& cache, Under under, Act act) {
  auto* const heap = cache.heap();
  if (heap == nullptr) return;
  under(*heap, [&] {
    if (cache.heap() == heap) act(*heap);
  });
}

template <class Heap, class Atomics = StdAtomics, class ListLock = SharedLock, class WalkLock = Lock,
          class Gate = ForkGate>
class HeapLists {
 public:
  // A heap that was ended, live: begin(heap) has made it so, under its lock. `wanted`, unless it is null or was not
  // ended; else another. Null if there is none.
  template <class Begin>
  Heap* begin(Heap* wanted, Begin begin) {
    LockGuard guard(lock_);
    Heap* const heap = wanted != nullptr && wanted->can_begin ? wanted : ended_.front();
    if (heap == nullptr) return nullptr;
    ended_.remove(heap);
    heap->can_begin = false;
    {
      LockGuard its(heap->lock());
      begin(*heap);
    }
    live_.push_front(heap);
    return heap;
  }
  // A record that no other thread knows.
  void add(Heap* heap) {
    LockGuard guard(lock_);
    add_ended(heap);
  }

  // Ends a live heap, under its lock, by end(heap); only if may_end(heap) says so, under the same lock, and of several
  // threads to one. A fork finds the heap in one of the lists, and leaves what there is of it to its child. The lists'
  // lock does not wait for the heap's, since a walk may be in a system call there.
  template <class MayEnd, class End>
  bool end_if(Heap& heap, MayEnd may_end, End end) {
    {
      LockGuard its(heap.lock());
      if (!may_end(heap)) return false;
    }
    {
      LockGuard guard(lock_);
      if (cursor_ == &heap) cursor_ = List::next(&heap);
      live_.remove(&heap);
      ending_.push_front(&heap);
    }
    {
      LockGuard its(heap.lock());
      end(heap);
    }
    LockGuard guard(lock_);
    ending_.remove(&heap);
    add_ended(&heap);
    return true;
  }

  // Calls act(heap) for each live heap, under no lock of the lists. One thread at a time: another one waits.
  template <class Act>
  void for_each(Act act) {
    LockGuard walk(walk_);
    start();
    while (Heap* const heap = step()) act(*heap);
  }
  // Null, or the broken part of the invariant. is_live(heap) is asked of each live heap, under the lists' lock.
  template <class IsLive>
  const char* check(IsLive is_live) {
    LockGuard guard(lock_);
    bool is_cursor_live = cursor_ == nullptr;
    for (Heap* heap = live_.front(); heap != nullptr; heap = List::next(heap)) {
      if (heap->can_begin || !is_live(*heap)) return "user heaps: a destroyed heap is among the live";
      is_cursor_live = is_cursor_live || heap == cursor_;
    }
    for (Heap* heap = ended_.front(); heap != nullptr; heap = List::next(heap))
      if (!heap->can_begin) return "user heaps: a heap to be used anew cannot begin";
    return is_cursor_live ? nullptr : "user heaps: the walk comes to a heap that is not live";
  }

  // That of the heaps' locks.
  Gate& fork_gate() { return gate_; }

  // For a fork: takes the locks of the walk and of the lists, and keeps all other threads from the heaps'. A thread may
  // be looking at a heap that was destroyed meanwhile: this waits for those as well. Reads each heap's lock.
  void lock_all() SNUG_UNPROVED {
    walk_.lock_for_fork();
    lock_.lock_for_fork();
    gate_.close();
    for_each_listed([](Heap& heap) { heap.lock().wait_until_open(); });
  }
  // In the child, before unlock_all().
  void drop_other_threads() SNUG_UNPROVED {
    for_each_listed([](Heap& heap) { heap.lock().reopen(); });
  }
  void unlock_all() SNUG_UNPROVED {
    gate_.open();
    lock_.unlock_after_fork();
    walk_.unlock_after_fork();
  }
  // In the child: a thread that is not here was ending heaps, or walking. is_claimed(heap): may_end() has said so.
  template <class IsClaimed, class End>
  void note_child(IsClaimed is_claimed, End end) SNUG_UNPROVED {
    cursor_ = nullptr;
    for (Heap *heap = live_.front(), *next = nullptr; heap != nullptr; heap = next) {
      next = List::next(heap);
      if (!is_claimed(*heap)) continue;
      live_.remove(heap);
      ending_.push_front(heap);
    }
    while (Heap* const heap = ending_.front()) {
      end(*heap);
      ending_.remove(heap);
      add_ended(heap);
    }
  }

 private:
  using List = snug::List<Heap, &Heap::in_list>;

  void add_ended(Heap* heap) SNUG_REQUIRES(lock_) {
    ended_.push_front(heap);
    heap->can_begin = true;
  }
  void start() {
    LockGuard guard(lock_);
    cursor_ = live_.front();
  }
  Heap* step() {
    LockGuard guard(lock_);
    Heap* const heap = cursor_;
    if (heap != nullptr) cursor_ = List::next(heap);
    return heap;
  }
  template <class Act>
  void for_each_listed(Act act) SNUG_UNPROVED {
    for (const List* list : FixedArray<const List*, 3>{&live_, &ending_, &ended_})
      for (Heap* heap = list->front(); heap != nullptr; heap = List::next(heap)) act(*heap);
  }

  Gate gate_;
  WalkLock walk_;
  ListLock lock_;
  List live_ SNUG_GUARDED_BY(lock_);
  List ending_ SNUG_GUARDED_BY(lock_);
  List ended_ SNUG_GUARDED_BY(lock_);
  typename Atomics::template Var<Heap*> cursor_ SNUG_GUARDED_BY(lock_) = nullptr;
};

}  // namespace snug
