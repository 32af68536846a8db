// HeapTable: every heap by its id, and how many threads each of them serves: how heaps are made, pass from thread to
// thread, and are walked.
//
//                  take                       leave, the last one
//   (not made) ──────────► living: a thread's, ─────────────────────► abandoned ──► the next thread's, whole
//       ▲                  or several threads'                         │   └───► living heaps adopt its slabs
//       └─────────────────────── spare ◄───────────────────────────────┘
//                                  it owns nothing any more
//
// No more heaps live than the bound says (HeapRegistry::bound): where there are as many, the next thread shares a heap
// with others. While one thread takes a heap, another may be visiting it: each thread, of the heap or not, works on a
// heap's slabs only under the heap's own lock. Once made, a heap stays, so that its id leads to it for ever.
//
//   threads_ == the sum of thread_count() over all heaps;   living_ == heaps of which it is not 0
//   what is abandoned or spare has no thread, and is not both;   what is spare has no slab
//
// Lock order: heap -> heap table. No thread waits for a heap's lock while it holds another's or the heap table's,
// except at a fork, where one thread takes them all. It is a template so that tests/schedule can run it in every order
// of its steps.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fixed_array.h"
#include "base/lock.h"
#include "base/pair.h"
#include "base/units.h"
#include "slab/heap_set.h"

namespace snug {

// Heap has a count of threads, which only the heap table uses, and the functions of SlabHeap that are called here.
template <class Heap, class Atomics, class LockType>
class HeapTable {
 public:
  // What it needs for each heap, or 64 of them: all zero.
  template <size_t kLimit>
  struct Places {
    typename Atomics::template Atomic<Heap*> heaps[kLimit];
    typename HeapSet<Atomics>::Word abandoned[words_of_bits(kLimit)];
    typename HeapSet<Atomics>::Word spare[words_of_bits(kLimit)];
  };

  constexpr HeapTable() = default;

  // Before any other use. Ids are below the limit.
  template <size_t kLimit>
  void open(Places<kLimit>& places) {
    heaps_ = places.heaps;
    limit_ = kLimit;
    bytes_ = sizeof(places);
    abandoned_.open(places.abandoned);
    spare_.open(places.spare);
  }
  bool is_open() const { return heaps_ != nullptr; }
  // At most so many heaps live. Not 0; and no less than live.
  void bound(size_t heaps) { most_living_ = heaps; }
  // The places, as [first byte, end).
  Pair<uintptr_t, uintptr_t> range() const { return {address_of(heaps_), address_of(heaps_) + bytes_}; }

  // A heap for a thread. While fewer heaps live than the bound, one without a thread: an abandoned one if there is any,
  // else a spare one, else what make(id) returns, which may be null. At the bound, or after null, a heap that serves
  // other threads; null if there is none of these either. O(heaps) at worst.
  template <class Make>
  Heap* take(Make make) {
    LockGuard guard(lock_);
    Heap* heap = living_ < most_living_ ? without_thread(make) : nullptr;
    if (heap == nullptr) heap = least_crowded();
    if (heap != nullptr) count_threads(*heap, 1);
    return heap;
  }
  // Makes a heap that has no thread and is in use for ever.
  template <class Make>
  Heap* reserve(Make make) {
    LockGuard guard(lock_);
    return make_heap(make);
  }

  // A thread of this heap has ended. If it was the last one, retire(heap) is called under the heap's lock, when all
  // mail is home and the heap is unattended.
  template <class Retire>
  void leave(Heap& heap, Retire retire) {
    {
      LockGuard guard(lock_);
      count_threads(heap, -1);
      if (heap.thread_count() != 0) return;
    }
    {
      const typename Heap::Visit visit(heap);
      heap.leave_unattended();
      heap.open_all_mail();
      retire(heap);
    }
    abandoned_.add(heap.id());
  }

  // Moves a slab of the class from an abandoned heap to `heir`; false if none has one. A heap that another thread is
  // visiting is skipped. Takes the heap table's lock only when it has met a heap that owns nothing any more: a visit
  // opens mail, which may make system calls. A thread that takes the heap meanwhile gets it without that slab.
  bool adopt_slab(size_t size_class, Heap& heir) SNUG_REQUIRES(heir.lock()) {
    bool met_bare = false;
    const bool adopted = abandoned_.visit_until(heap_count(), [&](size_t id) {
      heir.lock().assume_held();
      Heap* const one = heap(id);
      if (one == nullptr) return false;
      met_bare = met_bare || one->slab_count() == 0;
      if (one->slabs_to_give(size_class) == 0 || !one->try_visit()) return false;
      const bool given = one->give_slab(size_class, heir);
      one->end_visit();
      return given;
    });
    if (met_bare) retire_bare();
    return adopted;
  }

  // Calls act(heap) for every heap that has slabs or mail, under its lock, with all mail home. The caller holds no
  // lock.
  template <class Act>
  void visit_all(Act act) {
    for_each([&](Heap& heap) {
      if (heap.slab_count() == 0 && !heap.has_mail()) return;
      const typename Heap::Visit visit(heap);
      heap.open_all_mail();
      act(heap);
    });
    retire_bare();
  }

  // Calls act(heap) for every heap that was ever made.
  template <class Act>
  void for_each(Act act) {
    for (size_t id = 1; id < limit_; ++id) {
      Heap* const one = heap(id);
      if (one == nullptr) return;
      act(*one);
    }
  }
  // The heap with the id, null if there is none yet.
  Heap* heap(size_t id) const { return heaps_[id].load(kAcquire); }
  size_t abandoned_count() const {
    size_t count = 0;
    abandoned_.visit_until(heap_count(), [&](size_t) {
      ++count;
      return false;
    });
    return count;
  }
  bool is_held() const { return lock_.is_held(); }

  // For a fork: take and drop the locks of all heaps and the heap table's, while no thread begins or ends. A thread may
  // make a heap by reserve() before the table's lock is taken: the fork then takes that heap's as well, and before.
  void lock_all() SNUG_UNPROVED {
    for (size_t id = 1;; lock_.unlock()) {
      for (; id < limit_ && heap(id) != nullptr; ++id) heap(id)->lock().lock_for_fork();
      lock_.lock();
      if (id > heap_count()) break;
    }
    lock_.hold_for_fork();
  }
  void unlock_all() SNUG_UNPROVED {
    lock_.unlock_after_fork();
    // A handler may have made the forking thread begin a heap; no thread holds the lock of that one.
    for_each([](Heap& heap) SNUG_UNPROVED { heap.lock().unlock_after_fork(); });
    // In the child, a thread that was about to look again is gone.
    for_each([](Heap& heap) { heap.look_again(); });
  }

  // Null, or the broken part of the invariant.
  const char* check() {
    LockGuard guard(lock_);
    size_t threads = 0;
    size_t living = 0;
    for (size_t id = 1; id <= heap_count(); ++id) {
      const Heap& one = *heap(id);
      const bool is_living = one.thread_count() != 0;
      const bool is_spare = spare_.has(id);
      if (abandoned_.has(id) && (is_spare || is_living))
        return "heap table: an abandoned heap has a thread, or is spare";
      if (is_spare && (is_living || one.slab_count() != 0)) return "heap table: a spare heap has a thread, or slabs";
      threads += one.thread_count();
      living += is_living ? 1 : 0;
    }
    if (threads != threads_ || living != living_) return "heap table: the count of threads is wrong";
    return living_ > most_living_ ? "heap table: more heaps have threads than may" : nullptr;
  }

 private:
  using Set = HeapSet<Atomics>;

  // How far a set can reach. Without the lock it may be too few: what is left out is found next time.
  size_t heap_count() const { return heap_count_.load(kRelaxed); }
  template <class Make>
  Heap* without_thread(Make make) SNUG_REQUIRES(lock_) {
    Heap* found = take_out_of(abandoned_);
    if (found == nullptr) found = take_out_of(spare_);
    return found != nullptr ? found : make_heap(make);
  }
  Heap* take_out_of(Set& set) SNUG_REQUIRES(lock_) {
    Heap* found = nullptr;
    set.visit_until(heap_count(), [&](size_t id) {
      set.remove(id);
      found = heap(id);
      return true;
    });
    return found;
  }

  // The next living heap that serves no more threads than the average: there is one, as not all lie above the average.
  Heap* least_crowded() SNUG_REQUIRES(lock_) {
    if (living_ == 0) return nullptr;
    const size_t most = threads_ / living_;
    for (;;) {
      last_shared_ = last_shared_ % heap_count() + 1;
      Heap* const one = heap(last_shared_);
      if (one->thread_count() != 0 && one->thread_count() <= most) return one;
    }
  }

  void count_threads(Heap& heap, int change) SNUG_REQUIRES(lock_) {
    const size_t before = heap.thread_count();
    const size_t after = before + static_cast<size_t>(change);
    heap.set_thread_count(after);
    threads_ = threads_ - before + after;
    living_ = living_ - (before != 0 ? 1 : 0) + (after != 0 ? 1 : 0);
  }

  // Ids begin at 1: a page entry that names no slab has owner 0.
  template <class Make>
  Heap* make_heap(Make make) SNUG_REQUIRES(lock_) {
    const size_t id = heap_count() + 1;
    if (id == limit_) return nullptr;
    Heap* heap = make(static_cast<uint16_t>(id));
    if (heap == nullptr) return nullptr;
    heaps_[id].store(heap, kRelease);
    heap_count_.store(id, kRelaxed);
    return heap;
  }

  // Makes spare ones of the abandoned heaps that own nothing any more.
  void retire_bare() {
    LockGuard guard(lock_);
    abandoned_.visit_until(heap_count(), [&](size_t id) {
      if (heap(id)->slab_count() != 0) return false;
      abandoned_.remove(id);
      spare_.add(id);
      return false;
    });
  }

  // Every slow operation reads these; only a new heap writes one of them.
  typename Atomics::template Atomic<Heap*>* heaps_ = nullptr;
  size_t limit_ = 0;
  size_t bytes_ = 0;  // of the places
  size_t most_living_ = SIZE_MAX;
  Set abandoned_;                                            // without a thread, but with slabs when last looked at
  Set spare_;                                                // without either
  typename Atomics::template Atomic<size_t> heap_count_{0};  // ids 1 … heap_count exist; written under the lock

  // Threads write these when they begin or end.
  alignas(kCacheLine) LockType lock_;
  typename Atomics::template Var<size_t> threads_ SNUG_GUARDED_BY(lock_){0};  // threads that have a heap
  typename Atomics::template Var<size_t> living_ SNUG_GUARDED_BY(lock_){0};   // heaps that have a thread
  typename Atomics::template Var<size_t> last_shared_ SNUG_GUARDED_BY(lock_){
      0};  // id of the heap that least_crowded() chose last
};

}  // namespace snug
