// ThreadState: what the fast paths of malloc and free touch of a thread, and nothing else; one object of initial-exec
// TLS, small enough that libsnug.so can still be loaded with dlopen.
//
//   array of class c:   [ block ][ block ] … [ block ][       ] … [       ]
//                       base                          top                  limit
//
// malloc takes the entry below top unless top is the base, free puts one at top unless that is the limit. All three are
// kept as numbers of places, so that one instruction moves top on or, for null, leaves it. Of base and limit the lower
// halves are kept: they tell the places of one array apart, and with heads of 16 bytes instead of 24 there are half as
// many classes more. All three are zero in a thread that has no cache, for class 0 (no class), and before ld.so has set
// the thread-local storage of the process up (a resolver of indirect functions may call malloc that early): every call
// takes the slow path then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/compiler.h"
#include "base/thread_relative.h"
#include "size/class_table.h"

namespace snug {

class ThreadCache;

// The address of a place in an array, in units of its size.
using PlaceNumber = uint64_t;
inline PlaceNumber number_of(void* const* place) { return reinterpret_cast<uintptr_t>(place) / sizeof(void*); }
SNUG_ALWAYS_INLINE void** place_at(PlaceNumber number) { return reinterpret_cast<void**>(number * sizeof(void*)); }

struct CacheHead {
  PlaceNumber top_number;
  uint32_t limit_low;
  uint32_t base_low;

  void** top() const { return place_at(top_number); }
  void** base() const { return top() - held(); }
  void** limit() const { return top() + places_from(lower_half(top_number), limit_low); }
  size_t held() const { return places_from(base_low, lower_half(top_number)); }
  void move_top(void** place) { store_shared(top_number, number_of(place)); }

  static uint32_t lower_half(PlaceNumber number) { return static_cast<uint32_t>(number); }
  // Modulo 2^32, as an array may lie across a multiple of it.
  static size_t places_from(uint32_t from, uint32_t to) { return uint32_t{to - from}; }
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
  const PlaceNumber top = load_relative(&head->top_number);
  if (equals_lower_half_relative(&head->base_low, top)) [[unlikely]]
    return false;
  add_relative<-1>(&head->top_number);
  *block = place_at(top)[-1];
  return true;
}

// Writes the block at top, which stays; false if there is no room.
SNUG_ALWAYS_INLINE bool write_at_top(CacheHead* head, void* block) {
  const PlaceNumber top = load_relative(&head->top_number);
  if (equals_lower_half_relative(&head->limit_low, top)) [[unlikely]]
    return false;
  *place_at(top) = block;
  return true;
}

// Caches a block of the head's class; false if there is no room.
SNUG_ALWAYS_INLINE bool push(CacheHead* head, void* block) {
  if (!write_at_top(head, block)) [[unlikely]]
    return false;
  add_relative<1>(&head->top_number);
  return true;
}

// The same for what may be null, which is not cached; false says no more of it than that there was no room.
SNUG_ALWAYS_INLINE bool push_unless_null(CacheHead* head, void* block) {
  if (!write_at_top(head, block)) [[unlikely]]
    return false;
  add_one_unless_null_relative(&head->top_number, block);
  return true;
}

}  // namespace snug
