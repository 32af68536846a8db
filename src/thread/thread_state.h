// ThreadState: what the fast paths of malloc and free touch of a thread, and nothing else; one object of initial-exec
// TLS, below a kilobyte, so that libsnug.so can still be loaded with dlopen.
//
//   heads[c].top ──► the newest entry of class c's array     heads[c].limit ──► its last place
//
//   array:   [ null ][ block ][ block ] … [ block ][       ]
//            sentinel                       top        limit
//
// malloc takes *top unless it is the sentinel, free puts behind top unless that is the limit. In a thread that has no
// cache, and for class 0 (no class), top and limit both point to one constant sentinel: every call takes the slow path.
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
};
static_assert(sizeof(CacheHead) == 16, "a scaled class times 8 is the offset of its head");

struct ThreadState {
  CacheHead heads[kMaxClasses];
  ScaledClass small[kSmallSteps];  // ClassTable::small, in reach of one load
  bool ended;                      // its cache has ended: it gets no other
  uint16_t frees;                  // made without a cache
  uint64_t allocations;            // blocks handed out
  ThreadCache* cache;              // null until the first allocation
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

// Takes a cached block of the class, or null.
SNUG_ALWAYS_INLINE void* pop(ThreadState* relative, size_t scaled_class) {
  CacheHead* head = head_of(relative, scaled_class);
  void* block = *load_relative(&head->top);
  if (block != nullptr) [[likely]]
    add_relative<-int{sizeof(void*)}>(&head->top);
  return block;
}

// Caches a block of the class; false if there is no room.
SNUG_ALWAYS_INLINE bool push(ThreadState* relative, size_t scaled_class, void* block) {
  CacheHead* head = head_of(relative, scaled_class);
  void** top = load_relative(&head->top);
  if (equals_relative(&head->limit, top)) [[unlikely]]
    return false;
  top[1] = block;
  add_relative<int{sizeof(void*)}>(&head->top);
  return true;
}

// Sets the state back to that of a thread without a cache.
void reset_heads(ThreadState& state);

}  // namespace snug
