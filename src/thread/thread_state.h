// ThreadState: what the fast paths of malloc and free touch of a thread, and nothing else; one object of initial-exec
// TLS, small enough that libsnug.so can still be loaded with dlopen.
//
//   array of class c:   [ block ][ block ] … [ block ][       ] … [       ]
//                       base                          top                  limit
//
// malloc takes the entry below top unless top is the base, free puts one at top unless that is the limit. All three are
// zero in a thread that has no cache, for class 0 (no class), and before ld.so has set the thread-local storage of the
// process up (a resolver of indirect functions may call malloc that early): every call takes the slow path then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/compiler.h"
#include "base/thread_relative.h"
#include "size/class_table.h"

namespace snug {

class ThreadCache;

struct CacheHead {
  void** top;
  void** limit;
  void** base;
};
static_assert(sizeof(CacheHead) == kClassScale * 8, "a scaled class times 8 is the offset of its head");

struct ThreadState {
  CacheHead heads[kMaxClasses];
  uint64_t allocations;  // blocks handed out
  ThreadCache* cache;    // null until it begins
  uint16_t frees;        // made without a cache
  bool ended;            // its cache has ended: it gets no other
};

// The calling thread's state by address, and by offset from the thread pointer (base/thread_relative.h).
SNUG_HIDDEN extern constinit thread_local ThreadState thread_state SNUG_ASM_NAME("snug_thread_state");

SNUG_ALWAYS_INLINE ThreadState* relative_thread_state() {
  if constexpr (kThreadRelative) {
    char* offset = nullptr;
    SNUG_THREAD_OFFSET("snug_thread_state", offset);
    return reinterpret_cast<ThreadState*>(offset);
  } else {
    return &thread_state;
  }
}

SNUG_ALWAYS_INLINE CacheHead* head_of(ThreadState* state, size_t scaled_class) {
  return reinterpret_cast<CacheHead*>(reinterpret_cast<char*>(state->heads) + scaled_class * 8);
}

// Takes a cached block of the head's class; false if there is none.
SNUG_ALWAYS_INLINE bool pop(CacheHead* head, void** block) {
  void** top = load_relative(&head->top);
  if (equals_relative(&head->base, top)) [[unlikely]]
    return false;
  add_relative<-int{sizeof(void*)}>(&head->top);
  *block = top[-1];
  return true;
}

// Caches a block of the head's class; false if there is no room.
SNUG_ALWAYS_INLINE bool push(CacheHead* head, void* block) {
  void** top = load_relative(&head->top);
  if (equals_relative(&head->limit, top)) [[unlikely]]
    return false;
  *top = block;
  add_relative<int{sizeof(void*)}>(&head->top);
  return true;
}

}  // namespace snug
