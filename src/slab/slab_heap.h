// SlabHeap: the slabs that belong to one thread, or to a few that share them (slab/heap_table.h), and the two ways
// batches of blocks move between them and the threads' caches.
//
//   refill   blocks out of the slabs, in address order, recycled ones before never-used ones
//   flush    blocks back: into their slabs if this heap owns them, else sent to the heap that does
//
// The holder of a heap's lock may do anything with the heap. Its own threads, all equal as its owners, take the lock in
// each slow operation (Hold), unless the process has one thread (slab/owner_hold.h). Other threads take it to bring
// blocks home or to take some (Visit, Look). A thread never waits for one heap's lock while it holds another's: with
// blocks to send it only tries. If the lock is taken, or an owner is expected to take it soon, the blocks go into the
// slabs' remote frees (slab/remote_frees.h), and the next owner finds their slabs in the mailbox. If no owner has held
// the lock since the last mail, the next sender takes the lock and brings everything home. The lock's holder does the
// same after unlocking, with what was posted meanwhile, a bounded number of slabs at a time.
//
// A heap keeps empty slabs up to a budget, which grows when it needs again slabs that it gave away, and shrinks with
// age. After 64 visits without a hold the owners are taken for asleep, or gone: then no empty slab is kept. An
// abandoned heap is given whole to the next new thread; until then living heaps adopt its slabs as they need them.
//
//   per class:   out == sum of used over its slabs; those that have a block to give are in its list, in any order
//                slabs == full_slabs + those in the lists of partial and of empty ones
//   all slabs:   empty_bytes_ == bytes of slabs without a used block;   out_bytes_ == bytes of the blocks that are out
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/owner_counter.h"
#include "os/process.h"
#include "os/work_flag.h"
#include "size/class_table.h"
#include "slab/heap_cache.h"
#include "slab/holes.h"
#include "slab/mailbox.h"
#include "slab/owner_hold.h"
#include "slab/remote_frees.h"
#include "slab/slab.h"
#include "slab/slab_records.h"
#include "span/meta_arena.h"
#include "span/span_store.h"

namespace snug {

class HeapRegistry;
class Outbox;

class alignas(64) SlabHeap {
 public:
  struct Process {
    static bool is_single_threaded() { return os::is_single_threaded(); }
  };
  using Hold = OwnerHold<SlabHeap, Process>;
  class Visit;
  class Look;

  // `home`: the span store that its slabs come from.
  SlabHeap(HeapRegistry& registry, uint16_t id, uint8_t home);

  // As many blocks as so many slabs have are enough for a refill, and once so many have given, none is begun for it
  // that is empty.
  static constexpr size_t kSlabsARefill = 2;
  // Writes up to `want` blocks of `size_class` to end[-1], end[-2] …, ascending within a slab, so that an array which
  // ends there hands them out in address order. Returns how many: at least one, or 0 if the OS refuses. Not for the
  // shared heap, which gives whole cache lines alone.
  size_t refill(size_t size_class, void** end, size_t want) SNUG_REQUIRES(lock());

  // Takes one block that reads as zero, if the next one of the class was never used, and such blocks are carved singly
  // (SizeClass::carve_max). Else 0.
  size_t take_untouched(size_t size_class, void** end) SNUG_REQUIRES(lock());

  // Writes the blocks of whole cache lines (SizeClass::line_group) to end[-1], end[-2] …; returns how many, or 0 if the
  // OS refuses. Only for the shared heap, which gives whole cache lines alone.
  size_t take_group(size_t size_class, void** end) SNUG_REQUIRES(lock());

  // Takes back `count` blocks of one class, of any owners. Ends the process if one of them is not a block, or is free.
  // Inside, other heaps' locks are tried alone, and those of the span store and of the arena are taken.
  void flush(size_t size_class, void* const* blocks, size_t count) SNUG_REQUIRES(lock());

  // Sends blocks of one class to the heap that owned their slabs a moment ago.
  void send(size_t size_class, void* const* blocks, size_t count, uint16_t owner) SNUG_REQUIRES(lock());
  // Brings all mail home.
  void open_all_mail() SNUG_REQUIRES(lock());
  // The last thread has ended: from now on each sender brings its blocks home itself.
  void leave_unattended() SNUG_REQUIRES(lock()) {
    visits_ = kVisitsOfASleeper;
    mailbox_.leave_unattended();
  }

  // True if the slab has fewer used blocks than the class's other partial slabs on average: new blocks come from the
  // first partial slab, so that moving blocks there empties this one. A slab up to an eighth above the average counts
  // as well, or slabs that are equally full would all stay. O(empty slabs kept).
  bool is_worth_leaving(const Slab& slab) const SNUG_REQUIRES(lock());

  // The caches of its threads. The lock guards their arrays as well.
  HeapCaches& caches() SNUG_REQUIRES(lock()) { return caches_; }

  // Frees empty slabs to the span store, those of `first_class` first, until no more than `keep` bytes of them are
  // left.
  void release_empty(size_t keep, size_t first_class = 0) SNUG_REQUIRES(lock());
  // Each of its threads calls this now and then: keeps fewer empty slabs from now on, and purges a few holes and
  // overdue free spans, unless another thread has done so within the last `period` milliseconds.
  void age(uint32_t now, uint32_t period) SNUG_REQUIRES(lock());
  // Gives the OS the OS pages inside partial slabs that hold no live block. Returns the bytes given back.
  size_t purge_holes() SNUG_REQUIRES(lock());

  // How far a walk over the heap's slabs has come that looks for holes: the OS pages of slabs that hold no live block.
  // It skips classes of which blocks were taken since its last round.
  struct Round {
    uint8_t visitor;          // a bit of Bin::drawn
    uint32_t size_class = 0;  // the class that it looks at
    uint32_t left = 0;        // how many slabs of the class it has yet to look at
    bool is_done = false;     // all classes were looked at
    bool has_passed = false;  // it has skipped classes, as blocks of them were taken
    size_t exchanged = 0;     // bytes of pages that the heap has taken or given away since this round began, or ended
    size_t given = 0;         // bytes of holes purged in this round
    size_t pause = 0;         // bytes to be exchanged before the next round
  };
  static constexpr uint8_t kItsOwner = 1, kByTheClock = 2;  // visitors

  // Purges holes for growth: continues the owners' round a little and purges the holes it meets. Called for pages that
  // the OS has to back for the heap; while too much is free in its slabs, for all pages that it takes or gives away.
  // One round for each time that the heap ages, more while too much is free.
  void purge_for_growth(PageCount for_pages) SNUG_REQUIRES(lock());
  // For the background thread: takes the holes of the next slab that has some into `holes`, if one is near; false at
  // the end of the round. Empty slabs of the classes on the way go to `emptied`, which the caller frees to the span
  // store.
  bool take_holes(Round& round, Holes& holes, SpanBatch& emptied) SNUG_REQUIRES(lock());
  void put_back(Holes& holes) SNUG_REQUIRES(lock());

  // Moves one partial slab of the class to `heir`; false if there is none.
  bool give_slab(size_t size_class, SlabHeap& heir) SNUG_REQUIRES(lock(), heir.lock());
  const char* check() const SNUG_REQUIRES(lock());
  // Checks one slab of this heap, in a list or full.
  const char* check_slab(const Slab& slab, size_t size_class) const SNUG_REQUIRES(lock());

  // Any thread may call the functions from here on, with or without the lock.

  uint16_t id() const { return id_; }
  // The span store that its slabs come from, by number.
  uint8_t home() const { return home_; }
  // Racy: how many threads have this heap.
  size_t thread_count() const { return threads_.load(kRelaxed); }
  Lock& lock() const SNUG_RETURNS_LOCK(mailbox_.lock()) { return mailbox_.lock(); }  // for a fork
  bool has_mail() const { return mailbox_.has_mail(); }
  // For a thread of the heap, perhaps in a signal handler: true if the handler has not interrupted a hold of this
  // thread, and no other thread holds the lock.
  bool is_at_rest() { return !is_owner_in_.load(kRelaxed) && !lock().is_held(); }
  // Brings mail home if no owner is expected, unless another thread holds the lock, which then does so.
  void look_again();
  // For the background thread: true if blocks have come home that it has not seen.
  bool ages() const { return ages_.is_set(); }

  // Racy: blocks of the class outside of slabs (live or cached), and the slabs of the class.
  uint64_t blocks_out(size_t size_class) const SNUG_UNPROVED { return bins_[size_class].out.get(); }
  uint64_t slab_count(size_t size_class) const SNUG_UNPROVED { return bins_[size_class].slabs.get(); }
  uint64_t slab_count() const { return slab_count_.get(); }
  // Racy: slabs of the class that have a block to give.
  uint64_t slabs_to_give(size_t size_class) const SNUG_UNPROVED {
    return bins_[size_class].slabs.get() - bins_[size_class].full_slabs.get();
  }
  uint64_t batches_sent() const { return batches_sent_.get(); }
  // Racy: blocks and bytes that this heap has put into others' remote frees, less those it has taken out of its own.
  // Summed over all heaps: what is freed already, but not yet back in its slab.
  int64_t blocks_mailed() const { return static_cast<int64_t>(blocks_mailed_.get()); }
  int64_t bytes_mailed() const { return static_cast<int64_t>(bytes_mailed_.get()); }

 private:
  friend class HeapRegistry;
  friend Hold;
  template <class, class, class>
  friend class HeapTable;
  // After so many visits without a hold the owners are taken for asleep.
  static constexpr uint8_t kVisitsOfASleeper = 64;
  using SlabList = List<Slab, &Slab::in_bin>;

  struct Bin {
    SlabList partial;  // slabs with live blocks and with blocks to give
    SlabList empty;    // slabs without live blocks: drawn from when there is no partial one
    OwnerCounter slabs;
    OwnerCounter out;
    OwnerCounter full_slabs;
    uint8_t drawn = 0;  // a bit for each visitor: the class has given blocks since its round last came here
  };

  void set_thread_count(size_t threads) { threads_.store(threads, kRelaxed); }
  Slab* next_sparse(Round& round) SNUG_REQUIRES(lock());
  // The owners' round for holes goes on at the class where the last one stopped.
  void begin_round() SNUG_REQUIRES(lock());
  void end_round() SNUG_REQUIRES(lock());
  void give_back_some() SNUG_REQUIRES(lock());
  // True if more is free in slabs than the span store may retain, times the threads that have the heap.
  bool has_too_much() const SNUG_REQUIRES(lock());
  void count_out(size_t size_class, size_t blocks) SNUG_REQUIRES(lock());
  void count_home(size_t size_class, size_t blocks) SNUG_REQUIRES(lock());
  Slab* slab_to_draw_from(size_t size_class) SNUG_REQUIRES(lock());
  Slab* take_empty(size_t size_class) SNUG_REQUIRES(lock());
  bool recut_empty(size_t size_class) SNUG_REQUIRES(lock());
  bool make_slabs(size_t size_class) SNUG_REQUIRES(lock());
  // Every new slab is made here, those that are cut anew too; insert() also takes slabs of other heaps.
  bool cut_slab(size_t size_class, Span* span) SNUG_REQUIRES(lock());
  SpanBatch spans_for(const SizeClass& sizes, Paging paging) SNUG_REQUIRES(lock());
  Paging paging_for(size_t size_class) SNUG_REQUIRES(lock());
  void insert(Slab* slab) SNUG_REQUIRES(lock());
  void set_entries(const Slab& slab) SNUG_REQUIRES(lock());
  Span* take_apart(Slab* slab) SNUG_REQUIRES(lock());
  size_t most_empty() const SNUG_REQUIRES(lock());
  void give_empty_away(size_t size_class) SNUG_REQUIRES(lock());
  void note_refault(size_t bytes) SNUG_REQUIRES(lock());
  void give_up_extra(size_t bytes) SNUG_REQUIRES(lock());
  void fetch_records(void* const* blocks, size_t count) const SNUG_REQUIRES(lock());
  size_t put_home(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count) SNUG_REQUIRES(lock());
  void set_full(Slab& slab) SNUG_REQUIRES(lock());
  void relist(Slab& slab) SNUG_REQUIRES(lock());
  auto opens() {
    return [this](SlabRemoteFrees& remote) {
      lock().assume_held();
      open(remote);
    };
  }
  // At the 64th in a row the heap counts as asleep, and gives its empty slabs to the span store.
  void note_visit() SNUG_REQUIRES(lock());
  // True if no owner is expected to take the lock soon.
  bool is_asleep() const SNUG_REQUIRES(lock()) { return visits_ >= kVisitsOfASleeper; }
  void begin_hold() SNUG_REQUIRES(lock());
  void end_hold() SNUG_RELEASE(lock());
  bool try_visit() SNUG_TRY_ACQUIRE(true, lock());
  void begin_visit() SNUG_ACQUIRE(lock());
  // As begin_visit(), which waits for the lock and opens mail, but counts for no visit. Ends by end_visit(). The caller
  // holds no other heap's lock.
  void begin_look() SNUG_ACQUIRE(lock());
  void end_visit() SNUG_RELEASE(lock());
  void open(SlabRemoteFrees& remote) SNUG_REQUIRES(lock());
  static void deliver(SlabRemoteFrees& remote, SlabHeap& owner);
  void post(size_t size_class, void* const* blocks, size_t count) SNUG_REQUIRES(lock());
  const char* check_listed(const Slab& slab, size_t size_class) const SNUG_REQUIRES(lock());

  // What senders touch comes first, in a line of its own.
  Mailbox<SlabRemoteFrees, StdAtomics, Lock> mailbox_;
  const uint16_t id_;
  const uint8_t home_;
  // Since the owners' last hold, counted up to kVisitsOfASleeper.
  uint8_t visits_ SNUG_GUARDED_BY(lock()) = kVisitsOfASleeper;
  OwnerCounter blocks_mailed_;  // modulo 2^64
  OwnerCounter bytes_mailed_;
  WorkFlag ages_;
  Atomic<bool> is_owner_in_{false};  // for its signal handlers
  bool is_shared_ = false;           // the shared heap: it never has a thread

  alignas(kCacheLine) HeapRegistry& registry_;
  Atomic<size_t> threads_{0};  // used by the heap table
  HeapCaches caches_ SNUG_GUARDED_BY(lock());
  SlabRecords slabs_ SNUG_GUARDED_BY(lock());
  OwnerCounter slab_count_;
  size_t slab_bytes_ SNUG_GUARDED_BY(lock()) = 0;
  size_t out_bytes_ SNUG_GUARDED_BY(lock()) = 0;
  size_t empty_bytes_ SNUG_GUARDED_BY(lock()) = 0;
  size_t empty_extra_ SNUG_GUARDED_BY(lock()) = 0;  // bytes of empty slabs kept beyond kEmptyKept
  // Bytes of empty slabs freed for want of budget, and not needed again since.
  size_t given_away_ SNUG_GUARDED_BY(lock()) = 0;
  Round owners_ SNUG_GUARDED_BY(lock()){.visitor = kItsOwner};
  uint32_t aged_at_ SNUG_GUARDED_BY(lock()) = 0;  // milliseconds
  // What a heap counts is an OwnerCounter; allocator/statistics.cpp sums it over all heaps, in add_slabs for example.
  // The other places of a statistic: docs/questions.md, "Where a change goes".
  OwnerCounter batches_sent_;
  Bin bins_[kMaxClasses] SNUG_GUARDED_BY(lock());
};

// A stretch in which a thread of another heap, or without one, holds the lock; the heap's mail is opened first.
class SNUG_SCOPED_LOCK SlabHeap::Visit {
 public:
  // Waits for the lock.
  explicit Visit(SlabHeap& heap) SNUG_ACQUIRE(heap.lock()) : heap_(heap) { heap_.begin_visit(); }
  ~Visit() SNUG_RELEASE() { heap_.end_visit(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  SlabHeap& heap_;
};

// A visit in which another thread reads something, or takes a free block. It does not count towards taking the owners
// for asleep.
class SNUG_SCOPED_LOCK SlabHeap::Look {
 public:
  explicit Look(SlabHeap& heap) SNUG_ACQUIRE(heap.lock()) : heap_(heap) { heap_.begin_look(); }
  ~Look() SNUG_RELEASE() { heap_.end_visit(); }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

 private:
  SlabHeap& heap_;
};

}  // namespace snug
