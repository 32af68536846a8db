// ThreadPart: one thread's part of the real-time region: a cell heap, and the blocks of it that other threads have
// freed. The record lies at the part's start, its cells behind it.
//
//   a cell is used iff its block is live or was sent
//   a block was sent iff it holds its seal: the part's secret, mixed with its address
//
// The part's thread alone calls the functions below, without a lock, unless they say otherwise. Once that thread has
// left the part, the holder of RealTimeParts' lock calls collect_all(), is_empty(), check() and, in a fork's child,
// cut_pending(). Each but collect_all(), cut_pending(), bytes_least_free() and check() has no loop, and none makes a
// system call. An allocation takes two sent blocks home: one more than it takes
// away, so that they become fewer while others free no more of them than it allocates.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/fatal.h"
#include "base/owner_counter.h"
#include "base/racing_copy.h"
#include "realtime/sent_block.h"
#include "snug/cell/basic_cell_heap.h"

namespace snug {

// Reports the program's call: what the cells themselves find wrong was to be freed.
struct DieOfCellMisuse {
  [[noreturn]] static void misuse(const char* call, const void* block, const char* reason) {
    die_of_misuse(call[0] == 'C' ? "free" : call, block, reason);
  }
};

struct PartPolicy : EmbeddedCellPolicy {
  using Misuse = DieOfCellMisuse;
};

class ThreadPart {
 public:
  using Cells = BasicCellHeap<PartPolicy>;

  // In place, at the start of `bytes` of memory; nothing else is in there.
  ThreadPart(size_t bytes, uintptr_t secret) : secret_(secret) {
    cells_.add_region(this + 1, bytes - sizeof *this);
    bytes_ = cells_.bytes_free();
  }
  ThreadPart(const ThreadPart&) = delete;
  ThreadPart& operator=(const ThreadPart&) = delete;

  // Null if nothing fits; that is counted.
  void* allocate(size_t size) {
    collect_two();
    void* const block = cells_.allocate(size);
    if (block == nullptr) [[unlikely]]
      refusals_.add(1);
    return block;
  }
  void* allocate_aligned(size_t alignment, size_t size) {
    collect_two();
    void* const block = cells_.allocate_aligned(alignment, size);
    if (block == nullptr) [[unlikely]]
      refusals_.add(1);
    return block;
  }
  // Ends the process if no live block begins there.
  void release(void* block) {
    if (was_sent(block)) [[unlikely]]
      die_of_misuse("free", block, kAlreadyFree);
    cells_.deallocate(block);
  }
  // Longer or shorter where it stands; false, and nothing has changed, if the cell behind has no room.
  bool resize_in_place(void* block, size_t size) { return cells_.resize_in_place(block, size); }

  // For any thread but the part's: ends the process if no live block begins there. Not inline, so that tests/golden can
  // tell its ways from those of release().
  SNUG_NOINLINE void send(void* block) {
    if (!is_live(block)) [[unlikely]]
      cells_.report("free", block);
    SentBlock* const sent = as_sent(block);
    if (sent->seal.exchange(seal_of(block), kAcqRel) == seal_of(block)) [[unlikely]]
      die_of_misuse("free", block, kAlreadyFree);
    sent_.send(sent);
  }
  // For any thread. Ends the process if no live block begins there; `call` is named then.
  size_t usable_size(const void* block, const char* call) const {
    if (!is_live(block)) [[unlikely]]
      cells_.report(call, block);
    if (was_sent(block)) [[unlikely]]
      die_of_misuse(call, block, kAlreadyFree);
    size_t head;
    racing_copy(&head, at<void>(address_of(block) - sizeof head), sizeof head);
    return (head & ~kCellFlags) - sizeof head;
  }

  // Takes home all blocks that were sent, but what a sender has yet to link.
  void collect_all() {
    while (collect_one()) {
    }
  }
  // In the child of a fork, for the calling thread's part and for parts that a thread has left.
  void cut_pending() { sent_.cut_pending(); }
  // True if no block is live or sent.
  bool is_empty() const { return cells_.bytes_free() == bytes_; }

  // For any thread.
  size_t bytes() const { return bytes_; }
  uint64_t refusals() const { return refusals_.get(); }
  size_t bytes_free() const { return cells_.bytes_free(); }
  // The least that was free since the part was made. O(cells).
  size_t bytes_least_free() const { return cells_.statistics().bytes_least_free; }

  const char* check() const {
    if (const char* const broken = cells_.check(); broken != nullptr) return broken;
    return cells_.bytes_free() > bytes_ ? "a part has more free than it has" : nullptr;
  }

 private:
  static SentBlock* as_sent(const void* block) { return at<SentBlock>(address_of(block)); }
  uintptr_t seal_of(const void* block) const { return secret_ ^ address_of(block); }

  // Reads no word that might lie outside of the part. A freed block's words are poisoned.
  SNUG_READS_FREED bool was_sent(const void* block) const {
    return is_aligned(address_of(block), Cells::kAlignment) && as_sent(block)->seal.load(kRelaxed) == seal_of(block);
  }
  // ThreadSanitizer cannot know that the bits which are looked at stay as they are.
  bool is_live(const void* block) const { return SNUG_HAS_THREAD_SANITIZER != 0 || cells_.may_be_live(block); }

  SNUG_NOINLINE bool collect_one() {
    SentBlock* const sent = sent_.take();
    if (sent == nullptr) return false;
    sent->seal.store(0, kRelaxed);
    cells_.deallocate(sent);
    return true;
  }
  SNUG_ALWAYS_INLINE void collect_two() {
    if (sent_.is_empty()) [[likely]]
      return;
    if (collect_one()) collect_one();
  }

  Cells cells_;
  size_t bytes_ = 0;
  const uintptr_t secret_;
  OwnerCounter refusals_;
  alignas(64) SentBlockList sent_;
};

}  // namespace snug
