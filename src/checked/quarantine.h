// Quarantine: freed blocks, filled with a pattern, in the order in which each thread freed them. They leave it when it
// holds too many bytes; a write to one meanwhile is found then.
//
//   a thread's frees ─► its batch ─┐
//   another's frees  ─► its batch ─┴─► the ring, oldest first ─► the thread that hands a batch over
//
//   bytes_ == sum of weight over the blocks of the ring <= most_in_ring_, but for what has yet to be fetched
//   most_in_ring_ + kBatches * most_in_batch_ <= limit
//
// A thread uses the batch that its address hashes to, so that no batch is lost when a thread ends or a process forks.
// Thread-safe. The order of locks is a batch's, then the ring's; nothing else is called under them. The caller fills
// and checks blocks, outside of the locks.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "base/units.h"
#include "span/meta_arena.h"

namespace snug {

// A block in the quarantine, and a copy of its note out of the reach of stray writes. Only four words, as it is copied
// from a batch to the ring, and out of that.
struct Rested {
  void* block;
  size_t usable;
  size_t size;
  uint64_t trailer;
};

class Quarantine {
 public:
  static constexpr size_t kMostAtOnce = 16;

  // Called before any other use; `limit` is in bytes. If there is no memory for its own records, it holds no block.
  void open(size_t limit, MetaArena& arena) SNUG_UNPROVED;

  // False for a block so long that it would leave room for too few others.
  bool has_room_for(size_t size) const { return size + kLeastWeight <= limit_ / kLeastShare; }
  // Takes such a block in; false if the thread's batch is full, and nothing is done. `thread` is any number that the
  // calling thread keeps. O(1).
  SNUG_ALWAYS_INLINE bool admit(uintptr_t thread, const Rested& rested) {
    Batch& batch = batch_of(thread);
    LockGuard guard(batch.lock);
    if (is_filled_by(rested, batch)) return false;
    add(rested, batch);
    return true;
  }
  // The same, but hands over to the ring a batch that the block fills. Writes up to kMostAtOnce of the blocks that have
  // to leave for that; returns how many. If they are kMostAtOnce, more may have to leave: fetch() writes those.
  size_t admit_last(uintptr_t thread, const Rested& rested, Rested* leaving);
  size_t fetch(Rested* leaving);
  // The same for blocks that need not leave, those in batches too.
  size_t fetch_all(Rested* leaving);
  // The same at the end of the process; skips a batch or ring with a held lock, as a signal
  // handler may have interrupted the holder.
  size_t fetch_any(Rested* leaving);

  // True if the block is in it. Other threads may take it out at once. O(blocks).
  bool holds(const void* block);

  // Behind ForkOrder's locks: every batch's, where there are batches, then the ring's.
  void lock_for_fork() SNUG_UNPROVED;
  void unlock_after_fork() SNUG_UNPROVED;

 private:
  friend constexpr uint64_t layout_of_records(size_t allocator_bytes);

  static constexpr size_t kLeastShare = 2;
  static constexpr size_t kBatches = 16;
  static constexpr size_t kBatchShare = 128;              // parts of the limit: all batches have an eighth of it
  static constexpr size_t kLeastWeight = sizeof(Rested);  // bytes: bounds how long the ring can be, too
  static size_t weight(const Rested& rested) { return rested.size + kLeastWeight; }

  // The blocks that some threads have freed last. Holds at most most_in_batch_ bytes and fewer than kMostAtOnce blocks
  // while no thread holds its lock.
  struct alignas(kCacheLine) Batch {
    SharedLock lock;
    uint32_t count SNUG_GUARDED_BY(lock) = 0;
    size_t bytes SNUG_GUARDED_BY(lock) = 0;
    Rested blocks[kMostAtOnce] SNUG_GUARDED_BY(lock);
  };

  // The batch of a thread, by a hash of its address, as addresses of threads may differ in upper bits only.
  Batch& batch_of(uintptr_t thread) const {
    constexpr unsigned kBits = bit_width(kBatches - 1);
    return batches_[uint64_t{thread} * 0x9e3779b97f4a7c15 >> (64 - kBits)];
  }
  bool is_filled_by(const Rested& rested, const Batch& batch) const SNUG_REQUIRES(batch.lock) {
    return batch.count == kMostAtOnce - 1 || batch.bytes + weight(rested) > most_in_batch_;
  }
  static void add(const Rested& rested, Batch& batch) SNUG_REQUIRES(batch.lock) {
    batch.blocks[batch.count++] = rested;
    batch.bytes += weight(rested);
  }
  size_t hand_over(Batch& batch, Rested* leaving) SNUG_REQUIRES(batch.lock);
  // Takes the oldest blocks out of the ring until it weighs at most `limit` bytes, but no more than kMostAtOnce of
  // them. Writes them to `leaving`, and returns how many.
  size_t take(size_t limit, Rested* leaving) SNUG_REQUIRES(lock_);
  size_t take_any(Batch& batch, Rested* leaving);
  static size_t take_batch(Batch& batch, Rested* leaving) SNUG_REQUIRES(batch.lock);

  Batch* batches_ = nullptr;
  size_t most_in_batch_ = 0;
  size_t most_in_ring_ = 0;
  size_t limit_ = 0;

  alignas(kCacheLine) SharedLock lock_;
  Rested* ring_ SNUG_GUARDED_BY(lock_) = nullptr;
  size_t capacity_ SNUG_GUARDED_BY(lock_) = 0;  // a power of two
  size_t first_ SNUG_GUARDED_BY(lock_) = 0;     // only increases; its place in the ring is the remainder
  size_t count_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_ SNUG_GUARDED_BY(lock_) = 0;
};

}  // namespace snug
