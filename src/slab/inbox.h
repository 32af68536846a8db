// Parcel and Inbox: how blocks travel home from a thread that freed them but does not own their slab.
//
// A parcel carries the addresses of up to 62 blocks of one class; the sender writes neither to the blocks nor to
// their slabs, and pays one atomic operation a parcel. The inbox is a stack that many push and one empties whole, so
// that there is no ABA problem. Where no memory can be had for a parcel, or the sender has
// no cache, a block travels alone: its first word is the link.
//
//   head_ ──► [parcel | next]──►[block | next]──► … ──► 0      a link to a lone block has bit 0 set
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bits.h"

namespace snug {

struct alignas(64) Parcel {
  static constexpr size_t kCapacity = 62;
  uintptr_t next = 0;
  uint32_t count = 0;
  uint32_t size_class = 0;
  void* blocks[kCapacity];

  bool full() const { return count == kCapacity; }
};
static_assert(sizeof(Parcel) == 512);

class Inbox {
 public:
  // Any thread.
  void push(Parcel* parcel) { push_link(&parcel->next, address_of(parcel)); }
  void push_lone(void* block) { push_link(static_cast<uintptr_t*>(block), address_of(block) | kLone); }
  bool empty() const { return head_.load(std::memory_order_relaxed) == 0; }
  // For whoever has just made others see that this inbox is theirs to empty: not before that.
  bool empty_now() const { return head_.load(std::memory_order_seq_cst) == 0; }

  // The owner: takes everything. Walk it with next_of(), which must be called before the item is reused.
  uintptr_t take_all() { return head_.exchange(0, std::memory_order_acquire); }

  static bool is_lone(uintptr_t item) { return (item & kLone) != 0; }
  static void* lone_block(uintptr_t item) { return at<void>(item & ~kLone); }
  static Parcel* parcel(uintptr_t item) { return at<Parcel>(item); }
  static uintptr_t next_of(uintptr_t item) {
    return is_lone(item) ? *static_cast<uintptr_t*>(lone_block(item)) : parcel(item)->next;
  }

 private:
  static constexpr uintptr_t kLone = 1;

  void push_link(uintptr_t* next, uintptr_t item) {
    uintptr_t head = head_.load(std::memory_order_relaxed);
    do *next = head;
    while (!head_.compare_exchange_weak(head, item, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  std::atomic<uintptr_t> head_{0};
};

}  // namespace snug
