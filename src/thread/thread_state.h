// ThreadState: what the fast paths of malloc and free touch of a thread, and nothing else; one object of initial-exec
// TLS, small enough that libsnug.so can still be loaded with dlopen.
//
//   array of class c:   [ null ][ block ][ block ] … [ block ][       ] … [       ]
//                               base                          top                  limit
//
// malloc counts top down and takes the entry there, unless it lies below the base: then malloc counts top up again.
// free puts a block at top unless top is the limit, or the entry below top is the same block: that is freed twice in a
// row. The null below the base is equal to no block. All three are kept as numbers of places, so that one instruction
// moves top up, or for null does not. Of base and limit only the lower halves are kept: they tell the places of one
// array apart, and with heads of 16 bytes instead of 24 there is room for half as many classes more. All three are zero
// in a thread that has no cache, for class 0 (no class), and before ld.so has set up the thread-local storage of the
// process (a resolver of indirect functions may call malloc that early): every call takes the slow path then.
//
// Another thread may raise the base, and take the blocks below it (thread/array_ends.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/page_address.h"
#include "base/thread_relative.h"
#include "size/class_table.h"
#include "thread/array_ends.h"
#include "thread/hot_page.h"

namespace snug {

class ThreadCache;

// How far a place in an array lies from place 0, in places. Where malloc and free have the hot page's address in a
// register (thread/hot_page.h), place 0 is the word behind it: one access leads from there to the entry below a top,
// the top's number being the index. Elsewhere it is address 0.
using PlaceNumber = uint64_t;
SNUG_ALWAYS_INLINE uintptr_t place_zero() {
  if constexpr (kHasPageAddress) return HotWords().address() + sizeof(void*);
  return 0;
}
inline PlaceNumber number_of(void* const* place) { return (address_of(place) - place_zero()) / sizeof(void*); }
SNUG_ALWAYS_INLINE void** place_at(PlaceNumber number) {
  return reinterpret_cast<void**>(place_zero() + number * sizeof(void*));
}

struct CacheHead {
  PlaceNumber top_number;
  uint32_t limit_low;
  uint32_t base_low;

  void** top() const { return place_at(top_number); }
  void** base() const { return place_near_top(base_low); }
  void** limit() const { return place_near_top(limit_low); }
  // The number of blocks held. 0 also where a signal handler has interrupted a malloc that has counted top down.
  size_t held() const {
    return max(0, static_cast<int32_t>(lower_half(load_shared(top_number)) - load_shared(base_low)));
  }
  void move_top(void** place) { store_shared(top_number, number_of(place)); }
  // Where there is room, and where there is a block.
  void put(void* block) {
    *top() = block;
    move_top(top() + 1);
  }
  void* take() {
    move_top(top() - 1);
    return *top();
  }
  // The others move down.
  void drop_oldest(size_t count);
  // Gives the head the array at `base`, with `held` blocks in it and room for `room`.
  void point_at(void** base, size_t held, size_t room) {
    move_top(base + held);
    store_shared(limit_low, lower_half(number_of(base + room)));
    store_shared(base_low, lower_half(number_of(base)));
  }
  void point_nowhere() { point_at(place_at(0), 0, 0); }

  // True if the block is among those that the head of another thread leads to: from `below` places below its base up to
  // its top, in an array of `places`. The thread moves the top and writes entries meanwhile: a difference that cannot
  // be counts as nothing, and an entry is one that was there before or after.
  bool leads_to(const void* block, size_t below, size_t places) const;

  static uint32_t lower_half(PlaceNumber number) { return static_cast<uint32_t>(number); }

 private:
  // No array lies across a multiple of 2^32 places.
  void** place_near_top(uint32_t low) const {
    return place_at((load_shared(top_number) & ~PlaceNumber{UINT32_MAX}) | low);
  }
};
static_assert(offsetof(CacheHead, limit_low) == 8, "the lower half of the second word, of both");
static_assert(sizeof(CacheHead) == kClassScale * 8, "a scaled class times 8 is the offset of its head");

struct ThreadState {
  CacheHead heads[kMaxClasses];
  uint64_t allocations;  // blocks handed out
  ThreadCache* cache;    // null until it begins
  uint16_t frees;        // made without a cache
  bool ended;            // its cache has ended: it gets no other
  uint8_t asked;         // one more than the place of the callback that the thread is in (allocator/pressure.h), or 0
};

// The calling thread's state by address, and by offset from the thread pointer (base/thread_relative.h).
SNUG_HIDDEN SNUG_INITIAL_EXEC extern constinit thread_local ThreadState thread_state SNUG_ASM_NAME("snug_thread_state");

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

// A place's entry. Another thread may read or clear it, once it lies below the base: it is one word, read or written
// whole, and the compiler folds only plain accesses into other instructions.
SNUG_ALWAYS_INLINE void* entry_at(PlaceNumber number) {
  return kSanitized ? load_shared(*place_at(number)) : *place_at(number);
}
SNUG_ALWAYS_INLINE void set_entry(PlaceNumber number, void* block) {
  if constexpr (kSanitized)
    store_shared(*place_at(number), block);
  else
    *place_at(number) = block;
}

// The words of a head for its own thread. It keeps the top that it has read before it counts down: a second read would
// have to wait for that store.
class OwnHead {
 public:
  explicit OwnHead(CacheHead* head) : head_(head) {}

  SNUG_ALWAYS_INLINE void count_down() {
    top_before_ = load_relative(&head_->top_number);
    publish_relative<-1>(&head_->top_number, top_before_);
  }
  SNUG_ALWAYS_INLINE void count_up() { publish_relative<1>(&head_->top_number, top_before_ - 1); }
  // Accesses by the thread pointer are volatile; elsewhere the compiler may reorder them.
  static void light_fence() {
    if constexpr (!kThreadRelative) compiler_fence(kSeqCst);
  }
  SNUG_ALWAYS_INLINE bool top_is_below_base() { return lower_half_is_at_most_relative(&head_->base_low, top_before_); }
  PlaceNumber top_before() const { return top_before_; }

 private:
  CacheHead* head_;
  PlaceNumber top_before_ = 0;
};

// The words of a head for the holder of the heap's lock.
class OthersHead {
 public:
  explicit OthersHead(CacheHead& head) : head_(head) {}

  uint32_t top_low() const { return CacheHead::lower_half(load_acquired(head_.top_number)); }
  uint32_t base_low() const { return load_shared(head_.base_low); }
  void set_base_low(uint32_t low) { store_shared(head_.base_low, low); }

 private:
  CacheHead& head_;
};

// Takes a cached block of the head's class; false if there is none.
SNUG_ALWAYS_INLINE bool pop(CacheHead* head, void** block) {
  OwnHead words(head);
  if (!take_newest<OwnHead&>(words)) [[unlikely]]
    return false;
  *block = place_at(words.top_before())[-1];
  return true;
}

// True if the block was the last to be cached in the head's array.
inline bool is_newest(CacheHead* head, const void* block) {
  const PlaceNumber top = load_relative(&head->top_number);
  return top != 0 && entry_at(top - 1) == block;
}

// Caches a block of the class; false if there is no room, or if the block is the newest one there already.
SNUG_ALWAYS_INLINE bool push(ThreadState* state, size_t scaled_class, void* block) {
  const PlaceNumber top = load_relative(&head_of(state, scaled_class)->top_number);
  if (equals_lower_half_relative(&head_of(state, index_anew(scaled_class))->limit_low, top)) [[unlikely]]
    return false;
  if (entry_at(top - 1) == block) [[unlikely]]
    return false;
  set_entry(index_anew(top), block);
  publish_relative<1>(&head_of(state, index_anew(scaled_class))->top_number, top);
  return true;
}

// The same where the two words of a head are loaded at once. Below top 0 lies a word of the hot page, so that the entry
// may be read before the room is known, and one branch serves both tests.
SNUG_ALWAYS_INLINE bool push_by_pair(CacheHead* head, void* block) {
  head = at<CacheHead>(opaque(address_of(head)));  // kept, and not computed once more for the store
  PlaceNumber top, ends;
  load_pair(*reinterpret_cast<const uint64_t(*)[2]>(head), top, ends);
  const bool is_full = CacheHead::lower_half(ends) == CacheHead::lower_half(top);
  if (is_full | (entry_at(top - 1) == block)) [[unlikely]]
    return false;
  const PlaceNumber next = opaque(top + 1);  // by which the entry is reached
  set_entry(next - 1, block);
  publish_relative<1>(&head->top_number, next - 1);
  return true;
}

// Caches a block; null is not cached, and a double free is not looked for. False if there is no room.
SNUG_ALWAYS_INLINE bool push_trusted(CacheHead* head, void* block) {
  const PlaceNumber top = load_relative(&head->top_number);
  if (equals_lower_half_relative(&head->limit_low, top)) [[unlikely]]
    return false;
  set_entry(top, block);
  add_one_unless_null_relative(&head->top_number, top, block);
  return true;
}

}  // namespace snug
