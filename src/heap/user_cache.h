// UserCache: a thread's free blocks of one user heap: for each class an array, as the thread has them for malloc
// (thread/thread_state.h), and with the same two fast paths: its heads lie in the order of the thread's own, so that
// what leads malloc to a head leads to one here by adding the distance between the two.
//
// UserCaches: a thread's caches, up to kHeaps. A thread gets one for a heap that has served a number of operations
// (kOperationsBeforeCaches in heap/user_heaps.h), when it comes to that heap twice in a row, so that a walk over many
// heaps does not exchange a cache with each step. Where all are in use, the place of a destroyed heap is taken, else
// the next place in turn: its blocks go home under its heap's lock.
//
//   of == the cache's heap, or kNoHeap once that was destroyed: then what is in the arrays is nothing
//   arrays hold blocks of the heap, of their class;   an array has room_of(class) places, or none
//
// Only the thread uses its caches; but the thread that destroys a heap takes them from it, and in a child of fork any
// thread brings home what the parent's other threads had, under the heap's lock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/list.h"
#include "heap/page_stock.h"
#include "size/class_table.h"
#include "thread/thread_state.h"

namespace snug {

class UserHeap;

struct alignas(kCacheLine) UserCache {
  // The heap, or kNoHeap: a program that passes null for a heap finds no cache. Another thread sets it to kNoHeap
  // alone, under the heap's lock.
  const void* of = &kNoHeap;
  ptrdiff_t distance = 0;       // bytes from the thread's own heads to these
  uint32_t forks = 0;           // how many the process had seen when it began, or when its thread forked
  ListLink<UserCache> in_heap;  // under the heap's lock
  CacheHead heads[kMaxClasses] = {};

  // Null once the heap was destroyed: what the destroying thread did to the record before is seen then.
  UserHeap* heap() const {
    const void* const seen = load_acquired(of);
    return seen == &kNoHeap ? nullptr : static_cast<UserHeap*>(const_cast<void*>(seen));
  }
  // The compiler folds only a plain access into the comparison.
  SNUG_ALWAYS_INLINE bool is_of(const UserHeap* heap) const { return (kSanitized ? load_shared(of) : of) == heap; }
  void set_heap(UserHeap* heap) { AtomicRef<const void*>(of).store(heap, kRelease); }
  void set_no_heap() { AtomicRef<const void*>(of).store(&kNoHeap, kRelease); }

  static constexpr char kNoHeap = 0;
};

struct UserCaches {
  static constexpr size_t kHeaps = 8;

  UserCache* caches[kHeaps] = {};
  const UserHeap* missed = nullptr;  // the heap that the thread came to last without a cache
  uint32_t next = 0;                 // the cache to be emptied next
  UserHeap* ended = nullptr;  // the heap that the thread has ended last: its record lies in this processor's cache
  PageStock pages;
  ListLink<UserCaches> in_all;  // of all threads, under the lock of the records
};

// The calling thread's caches; made with its first, or when it first ends a heap, and kept until it ends.
SNUG_HIDDEN SNUG_INITIAL_EXEC extern constinit thread_local UserCaches* own_caches;

}  // namespace snug
