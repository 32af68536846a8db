// MappingStore: the large blocks that have mappings of their own, live ones and those kept for the next request.
//
// A freed mapping stays in the cache, memory and all, until it has lain unused for too long, or too much is kept beside
// the one freed last (span/keeping.h). A request takes the mapping that fits best; if that is much longer than was
// asked for, the tail is kept, as is what realloc cuts off: it serves the block if that grows, or goes back, addresses
// too, when it is the oldest. A block that grows by realloc moves once into a mapping with room to grow
// (span/mapping.h) and then grows in place; moving carries the pages over (mremap), never copies them.
//
//   bytes_kept_ == sum of `kept` over the cache and the tails;   every live block is in the index or in its owner's
//   hands, no free one is;   written_ - bytes_released_ == sum of `written` == what the footprint counts of the store
//
// Thread-safe. No system call happens under the lock: what it is about is in the thread's hands meanwhile, in neither
// cache nor index, and a tail becomes a mapping of its own before it goes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/fixed_array.h"
#include "base/in_flight_gate.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/owner_counter.h"
#include "base/pair.h"
#include "span/footprint.h"
#include "span/keeping.h"
#include "span/large_index.h"
#include "span/mapped_block.h"
#include "span/meta_arena.h"
#include "span/span_store.h"

namespace snug {

// What a large request wants besides its size.
struct LargeRequest {
  size_t size = 0;
  size_t alignment = 1;  // bytes; a power of two
  bool zeroed = false;
  bool will_grow = false;
  uint8_t home = 0;  // the span store that a run comes from
};

enum class LargeFree { kFreed, kAlreadyFree, kInside, kUnknown };

struct LargeStatistics {
  size_t blocks = 0;
  size_t bytes_usable = 0;  // of live blocks
  size_t bytes_mapped = 0;  // live and kept, room to grow included
  size_t bytes_kept = 0;    // possibly backed memory of freed blocks, and of live ones beyond their use
  size_t bytes_index = 0;
  size_t bytes_released = 0;  // so far
};

// Of one mapping, bytes: how many are its caller's (0: it is kept), and up to where it is memory.
struct LargeExtent {
  uintptr_t start = 0;
  size_t usable = 0;
  size_t writable = 0;
};

class MappingStore {
 public:
  // How many mappings there are at most, live and kept; and up to how many a block that is to grow gets a new one, or
  // new room, which the OS counts as one more. The OS grants a process 65530 by default, and a process at that limit
  // gets no memory for small blocks either.
  static constexpr size_t kMostMappings = 32768;
  static constexpr size_t kMostForGrowth = kMostMappings / 8;

  // `grown`: bytes that the span store, which cannot use what is kept here, has taken from the OS so far.
  constexpr MappingStore(MetaArena& arena, const Atomic<size_t>& grown, Footprint& footprint)
      : grown_(grown), arena_(arena), footprint_(footprint), records_(arena), keeping_(bounds_) {}

  // On what is kept; the setting for what is in use has no meaning here, and is 0.
  KeptBounds& bounds() { return bounds_; }

  // Null if the OS refuses, the limit on the footprint, or the bound on mappings.
  void* allocate(const LargeRequest& request);
  LargeFree free(void* start);
  // 0 if no live large block starts there. As a rule without the lock.
  size_t usable_size(const void* start);
  // Bytes of a live block from its start that may have been written, its tail included; 0 if none starts there.
  size_t written(const void* start);
  // The start of the live block that the address lies in, or null. O(blocks).
  void* block_around(const void* address);
  // The block at its new size, moved or not, contents kept up to the smaller size. Null if it has to be done by copying
  // or cannot be done; the block is then as before.
  void* resize(void* start, size_t size);

  // Gives back the oldest of what is kept until about `pad` bytes remain, or `most` have gone: of a mapping the end, in
  // whole huge pages, and a live block's tail whole. Returns the bytes that went.
  size_t purge(size_t pad, size_t most);
  // Gives back what is kept until about `pad` bytes remain; with 0 the room of live blocks, too. True if any memory was
  // given back.
  bool trim(size_t pad);
  // Gives back of the oldest that is kept the last huge page, or a tail, if it has lain unused too long.
  Purge purge_overdue();
  // The same, without the lock where nothing is overdue.
  void purge_as_due() {
    const uint64_t oldest = oldest_.load(kRelaxed);
    if (oldest != kNoneKept && is_overdue(static_cast<uint32_t>(oldest))) purge_overdue();
  }
  // Purges for growth: gives back, from the end of the oldest kept block and then of the next, as much as the span
  // store has grown by since blocks are kept, less what was purged for that already. In whole huge pages, and a live
  // block's tail whole; an excess counts for the next time. Where nothing is kept it reads one word that no thread
  // writes.
  void purge_for_growth() {
    if (oldest_.load(kRelaxed) == kNoneKept) return;
    const size_t grown = grown_.load(kRelaxed);
    if (grown > made_way_.load(kRelaxed)) purge_for_growth_slowly(grown);
  }
  // Gives back the oldest of what is kept beyond the bounds, which drop when no thread answers the wake event any more.
  Purge purge_excess();
  // True if anything is kept.
  bool ages();

  // Bytes handed out so far in memory that the OS had yet to back. Needs no lock.
  size_t bytes_grown() const { return written_.load(kRelaxed); }

  LargeStatistics statistics();
  // Calls visit(LargeExtent) for every mapping until it returns false; true if it never did. Takes the lock for a few
  // at a time, and none for the visits, so that mappings may come and go. Those that a thread has detached are left
  // out; one that is freed or reused meanwhile may come twice, or not at all.
  template <class Visit>
  bool for_each_extent(Visit visit) {
    LargeExtent extents[kLooksAtATime];
    size_t place = 0;
    while (const size_t count = copy_extents(&place, extents, kLooksAtATime))
      for (const LargeExtent& one : ArrayView(extents, count))
        if (!visit(one)) return false;
    return true;
  }
  // The index, as [first byte, end).
  Pair<uintptr_t, uintptr_t> index_range();
  // Null, or the broken invariant. Takes the lock. O(blocks). Live, mapped and held bytes are compared only while
  // nothing is detached.
  const char* check();

  // Fork: held while no block is on its way between the cache, the index and the OS.
  void lock_at_rest() SNUG_ACQUIRE(lock_) { in_flight_.lock_at_rest(lock_); }
  void unlock_after_fork() SNUG_RELEASE(lock_) { lock_.unlock_after_fork(); }

 private:
  using CacheList = List<MappedBlock, &MappedBlock::in_cache>;
  static constexpr size_t kRemembered = 16;
  static constexpr size_t kNotDue = SIZE_MAX;
  static constexpr uint64_t kNoneKept = UINT64_MAX;

  // Copies up to `most` of the mappings behind *place, 0 at first, and advances that; returns how many, 0 at the end.
  size_t copy_extents(size_t* place, LargeExtent* extents, size_t most);
  // Makes system calls. `grown`: the bytes in total so far, as of grown_. As many steps as are owed, without a bound;
  // where nothing is kept, or on its way, what is owed is forgiven. Gives back the excess afterwards.
  void purge_for_growth_slowly(size_t grown) SNUG_EXCLUDES(lock_);
  void forgive(size_t grown) SNUG_REQUIRES(lock_);
  static size_t without_end(const MappedBlock& block, size_t bytes);  // under the lock
  template <class AskWhatStays, class Count>
  Purge give_back_oldest(AskWhatStays ask_what_stays, Count count) SNUG_EXCLUDES(lock_);
  MappedBlock* take_kept(size_t bytes, const LargeRequest& request) SNUG_REQUIRES(lock_);
  bool promise_place() SNUG_REQUIRES(lock_);
  MappedBlock* map_block(const LargeRequest& request, size_t usable) SNUG_REQUIRES(lock_);
  void* hand_out(MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  CacheList& list_of(const MappedBlock& block) SNUG_REQUIRES(lock_) { return block.is_live() ? tails_ : cache_; }
  MappedBlock* oldest_kept() const SNUG_REQUIRES(lock_);
  void keep(MappedBlock* block) SNUG_REQUIRES(lock_);
  void count_kept(MappedBlock* block) SNUG_REQUIRES(lock_);
  void note_oldest() SNUG_REQUIRES(lock_);
  bool is_overdue(uint32_t freed_at) const;
  void keep_no_longer(MappedBlock* block) SNUG_REQUIRES(lock_);
  static bool cut(MappedBlock* block, size_t length);  // without the lock: system calls
  void count_cut(size_t mapped, size_t written, const MappedBlock& block) SNUG_REQUIRES(lock_);
  // For give_back_oldest and cut_every_tail: cuts off a live block's tail. Null, and nothing has changed, without
  // memory for a record.
  MappedBlock* split_tail(MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  bool cut_every_tail() SNUG_EXCLUDES(lock_);
  bool give_back(MappedBlock* block, size_t stays) SNUG_REQUIRES(lock_);
  bool keeps_too_much() const SNUG_REQUIRES(lock_);
  // purge_excess() until nothing is due, or the OS refuses; takes the lock each time.
  void give_back_excess() SNUG_EXCLUDES(lock_);
  bool hold(const MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  void let_go(const MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  static size_t unwritten(const MappedBlock* block, size_t usable);
  void write_up_to(MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  void shorten(MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  template <class Act>
  void act_detached(MappedBlock* block, Act act) SNUG_REQUIRES(lock_);
  bool may_have_room() const SNUG_REQUIRES(lock_) { return mappings_ < kMostForGrowth; }
  bool make_writable(MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  bool lengthen(MappedBlock* block, size_t usable) SNUG_REQUIRES(lock_);
  void advise(MappedBlock* block) SNUG_REQUIRES(lock_);
  static size_t length_to_grow(const MappedBlock& block, size_t usable);
  LargeFree reason_unknown(uintptr_t start) SNUG_REQUIRES(lock_);
  uintptr_t find_around(uintptr_t address) const SNUG_REQUIRES(lock_);
  void remember_gone(uintptr_t start) SNUG_REQUIRES(lock_) { gone_[gone_count_++ % kRemembered] = start; }

  // Every refill reads these; they lie apart from what each operation on a large block writes.
  alignas(kCacheLine) Atomic<uint64_t> oldest_{kNoneKept};  // when the oldest kept was freed, milliseconds
  Atomic<size_t> made_way_{0};                              // for so much growth of others
  const Atomic<size_t>& grown_;
  MetaArena& arena_;
  Footprint& footprint_;
  KeptBounds bounds_;

  alignas(kCacheLine) SharedLock lock_;
  InFlightGate in_flight_;
  RecordPool<MappedBlock> records_ SNUG_GUARDED_BY(lock_);
  LargeIndex index_ SNUG_GUARDED_BY(lock_);
  CacheList cache_ SNUG_GUARDED_BY(lock_);  // free blocks, the oldest first
  CacheList tails_ SNUG_GUARDED_BY(lock_);  // live ones with a tail that is kept, the same
  OwnerCounter bytes_kept_;
  Keeping keeping_ SNUG_GUARDED_BY(lock_);
  size_t bytes_usable_ SNUG_GUARDED_BY(lock_) = 0;
  size_t bytes_mapped_ SNUG_GUARDED_BY(lock_) = 0;
  size_t mappings_ SNUG_GUARDED_BY(lock_) = 0;          // records in use: each a mapping, or about to be
  size_t bytes_in_transit_ SNUG_GUARDED_BY(lock_) = 0;  // of mappings that are being given back
  size_t blocks_detached_ SNUG_GUARDED_BY(lock_) = 0;   // live ones in their owners' hands
  size_t bytes_released_ SNUG_GUARDED_BY(lock_) = 0;
  Atomic<size_t> written_{0};
  // Where blocks lay that went back or moved, lately: to tell a double free as such.
  uintptr_t gone_[kRemembered] SNUG_GUARDED_BY(lock_) = {};
  size_t gone_count_ SNUG_GUARDED_BY(lock_) = 0;
};

}  // namespace snug
