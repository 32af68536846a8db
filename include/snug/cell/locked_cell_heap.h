// LockedCellHeap: a cell heap for several threads, behind one lock. By default a lock with priority inheritance: a
// thread that holds it runs at the priority of the highest one that waits for it, so that a thread of middling priority
// cannot keep a real-time thread waiting by keeping the holder from the CPU. With no contention neither side enters the
// kernel.
//
// At most one thread is in the heap; a thread waits at most for the operations of the lock's holder and of the waiters
// before it, each of bounded length (for resize() of a long block without its copy, which is made outside of the lock).
//
// A lock is any type with lock() and unlock().
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "snug/cell_heap.h"

namespace snug {

// POSIX mutex with PTHREAD_PRIO_INHERIT, on Linux by FUTEX_LOCK_PI. Not recursive: a thread that holds it and locks it
// again, from a signal handler or a trace sink, would deadlock; that is reported instead.
class PriorityInheritanceLock {
 public:
  PriorityInheritanceLock() {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0 ||
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) != 0 ||
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) != 0 ||
        pthread_mutex_init(&mutex_, &attributes) != 0)
      AbortWithLine::misuse("PriorityInheritanceLock", this, "the system has no priority inheritance");
    pthread_mutexattr_destroy(&attributes);
  }
  ~PriorityInheritanceLock() { pthread_mutex_destroy(&mutex_); }
  PriorityInheritanceLock(const PriorityInheritanceLock&) = delete;
  PriorityInheritanceLock& operator=(const PriorityInheritanceLock&) = delete;

  void lock() {
    if (const int error = pthread_mutex_lock(&mutex_); error != 0) [[unlikely]]
      AbortWithLine::misuse("LockedCellHeap", this,
                            error == EDEADLK ? "the thread that is in the heap calls it again"
                                             : "its lock was written over, or is held in another process");
  }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

template <class Heap = CellHeap<>, class Lock = PriorityInheritanceLock>
class LockedCellHeap {
 public:
  LockedCellHeap() = default;
  // Takes the arguments of the heap's own constructor: pages, retention, trace.
  template <class Pages, class... Rest>
  explicit LockedCellHeap(Pages pages, Rest... rest) : heap_(pages, rest...) {}

  const char* add_region(void* start, size_t bytes) {
    const Guard guard(lock_);
    return heap_.add_region(start, bytes);
  }
  const char* remove_region(void* start) {
    const Guard guard(lock_);
    return heap_.remove_region(start);
  }
  void* allocate(size_t bytes) {
    const Guard guard(lock_);
    return heap_.allocate(bytes);
  }
  void* allocate_aligned(size_t alignment, size_t bytes) {
    const Guard guard(lock_);
    return heap_.allocate_aligned(alignment, bytes);
  }
  void deallocate(void* block) {
    const Guard guard(lock_);
    heap_.deallocate(block);
  }
  bool resize_in_place(void* block, size_t bytes) {
    const Guard guard(lock_);
    return heap_.resize_in_place(block, bytes);
  }
  void* resize(void* block, size_t bytes) {
    if (block == nullptr) return allocate(bytes);
    size_t old_bytes = 0;
    void* moved = nullptr;
    {
      const Guard guard(lock_);
      if (heap_.resize_in_place(block, bytes)) return block;
      old_bytes = Heap::usable_size(block);
      moved = heap_.allocate(bytes);
    }
    if (moved == nullptr) return nullptr;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    deallocate(block);
    return moved;
  }
  // Takes the lock too: the head of a cell holds a flag that operations on its neighbour change.
  size_t usable_size(const void* block) {
    const Guard guard(lock_);
    return Heap::usable_size(block);
  }
  size_t release_unused() {
    const Guard guard(lock_);
    return heap_.release_unused();
  }
  const char* check() {
    const Guard guard(lock_);
    return heap_.check();
  }
  // See BasicCellHeap::walk(): the visitor is called under the lock.
  template <class Visit>
  void walk(Visit visit) {
    const Guard guard(lock_);
    heap_.walk(visit);
  }
  CellStatistics statistics() {
    const Guard guard(lock_);
    return heap_.statistics();
  }

 private:
  class Guard {
   public:
    explicit Guard(Lock& lock) : lock_(lock) { lock_.lock(); }
    ~Guard() { lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Lock& lock_;
  };

  Lock lock_;
  Heap heap_;
};

}  // namespace snug
