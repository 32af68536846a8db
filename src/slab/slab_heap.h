// SlabHeap: the slabs that belong to one thread, or to a few that share them (slab/heap_roll.h), and the two ways
// batches of blocks pass between them and the threads' caches.
//
//   refill   blocks out of the slabs, in address order, recycled ones before never-used ones
//   flush    blocks back: into their slabs if this heap owns them, else sent to the heap that does
//
// Whoever holds a heap's lock may do anything with it. Its threads take the lock in each slow operation (Hold): the
// owners, of which one is as good as the other. Others take it when they have something for the heap (Visit), and when
// they have something to take. A thread never waits for one heap's lock while it holds another's: with blocks in hand
// it only tries. If the lock is taken, or an owner is likely to come by soon, the blocks go into the slabs' remote
// frees (slab/remote_frees.h), and the next owner finds their slabs in the mailbox. Where none has come by since the
// last mail they are not waited for: the next sender takes the lock and brings everything home. So does the holder of a
// lock after giving it back, with what has come meanwhile, a bounded number of slabs at a time.
//
// A heap keeps empty slabs up to a budget, which grows while slabs that were given away are missed, and shrinks with
// age. Owners that have let others come in their stead 64 times are taken for asleep, or gone: then nothing empty is
// kept. A heap without a thread is given whole to the next new one; until then living ones adopt its slabs as they need
// them.
//
//   per class:   out == sum of used over its slabs; those that have a block to give are in its list, in any order
//                slabs == full_slabs + those in the lists of partial and of empty ones
//   all slabs:   empty_bytes_ == bytes of slabs of which nothing is used;   out_bytes_ == bytes of the blocks that are
//   out
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/list.h"
#include "base/lock.h"
#include "base/owner_counter.h"
#include "os/bell_mark.h"
#include "os/process.h"
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

  SlabHeap(HeapRegistry& registry, uint16_t id);

  // The functions from here to the next such line are for the holder of the lock.

  // Writes up to `want` blocks of `size_class` to end[-1], end[-2] …, ascending within a slab, so that an array which
  // ends there hands them out in address order. Returns how many: at least one, or 0 if the OS refuses.
  size_t refill(size_t size_class, void** end, size_t want);

  // The same of one block that reads as zero, if the next one of the class was never used, and never used ones come
  // singly (SizeClass::carve_max). Else 0.
  size_t take_untouched(size_t size_class, void** end);

  // Writes the blocks of whole cache lines (SizeClass::line_group) to end[-1], end[-2] …; returns how many, or 0 if the
  // OS refuses. For a heap that gives only so.
  size_t take_group(size_t size_class, void** end);

  // Takes `count` blocks of one class and any owners. Ends the process if one of them is not a block, or is free.
  void flush(size_t size_class, void* const* blocks, size_t count);

  // Sends blocks of one class to the heap that owned their slabs a moment ago.
  void send(size_t size_class, void* const* blocks, size_t count, uint16_t owner);
  // Brings home all that has come.
  void open_all_mail();
  // The last thread is gone: from now on whoever sends brings it home as well.
  void leave_unattended() {
    visits_ = kVisitsOfASleeper;
    mailbox_.leave_unattended();
  }

  // True if the slab would be empty sooner without one of its blocks than the class's other partial slabs on average:
  // what is allocated anew comes from the first of them, so that a block moved there brings memory home. A slab that is
  // an eighth above the average counts as well, or slabs that are equally full would all stay. O(empty slabs kept).
  bool is_worth_leaving(const Slab& slab) const;

  // The caches of its threads, whose arrays the lock guards as well.
  HeapCaches& caches() { return caches_; }

  // Gives empty slabs to the span store, those of `first_class` first, until no more than `keep` bytes of them are
  // left.
  void release_empty(size_t keep, size_t first_class = 0);
  // Called by each of its threads now and then: gives up what was kept for a use that has not come, and a few holes and
  // free spans, unless another thread has had it done within the last `period` milliseconds.
  void age(uint32_t now, uint32_t period);
  // Gives the OS the OS pages inside partial slabs that hold no live block. Returns the bytes given back.
  size_t purge_holes();

  // How far somebody has come who goes round the slabs of a heap for holes: the OS pages of slabs that hold no live
  // block. Those of classes stay of which blocks were taken since he last came by.
  struct Round {
    uint8_t visitor;          // a bit of Bin::drawn
    uint32_t size_class = 0;  // where it is
    uint32_t left = 0;        // how many slabs of the class it has yet to look at
    bool is_done = false;     // it has come round
    bool has_passed = false;  // some classes by, as blocks of them were taken
    size_t exchanged = 0;     // bytes of pages that the heap has taken or given away since this round began, or ended
    size_t given = 0;         // and of holes that have gone back in it
    size_t pause = 0;         // bytes to be exchanged before the next one
  };
  static constexpr uint8_t kItsOwner = 1, kByTheClock = 2;  // visitors

  // For pages that the heap takes of memory that was not in use; while too much is free in its slabs, for all that it
  // takes or gives away: goes on a little, and purges the holes. One round for each time that the heap ages, more
  // while too much is free.
  void make_way(PageCount for_pages);
  // For who goes round by the clock: the next slab with holes has them in hand afterwards, if there is one near; false
  // at the end of the round. What the classes on the way keep empty goes to `emptied`, and on to the span store.
  bool take_holes(Round& round, Holes& holes, SpanBatch& emptied);
  void put_back(Holes& holes);

  // Moves one partial slab of the class to `heir`; false if there is none. The caller holds both locks.
  bool give_slab(size_t size_class, SlabHeap& heir);
  const char* check() const;
  // Of a slab of this heap, in a list or full.
  const char* check_slab(const Slab& slab, size_t size_class) const;

  // Any thread from here on.

  uint16_t id() const { return id_; }
  // Racy: threads that have it.
  size_t thread_count() const { return threads_.load(std::memory_order_relaxed); }
  Lock& lock() { return mailbox_.lock(); }  // for a fork
  bool has_mail() const { return mailbox_.has_mail(); }
  // For a thread of the heap, in what may be a signal handler: true if it has not interrupted itself in the middle of
  // something, and nobody else is in either.
  bool is_at_rest() { return !is_owner_in_.load(std::memory_order_relaxed) && !lock().is_held(); }
  // Brings home what has come if no owner is expected, unless somebody holds the lock, who then does.
  void look_again();
  // For the idle thread: true if blocks have come home that it has not seen.
  bool ages() const { return ages_.is_set(); }

  // Racy: blocks of the class outside of slabs (live or cached), and the slabs of the class.
  uint64_t blocks_out(size_t size_class) const { return bins_[size_class].out.get(); }
  uint64_t slab_count(size_t size_class) const { return bins_[size_class].slabs.get(); }
  uint64_t slab_count() const { return slab_count_.get(); }
  // Racy: those of the class that have a block to give.
  uint64_t slabs_to_give(size_t size_class) const {
    return bins_[size_class].slabs.get() - bins_[size_class].full_slabs.get();
  }
  uint64_t batches_sent() const { return batches_sent_.get(); }
  // Racy: blocks and bytes that this heap has put into others' remote frees, less those it has taken out of its own.
  // Summed over all heaps, what is on its way: free already, but still out of its slab.
  int64_t blocks_mailed() const { return static_cast<int64_t>(blocks_mailed_.get()); }
  int64_t bytes_mailed() const { return static_cast<int64_t>(bytes_mailed_.get()); }

 private:
  friend class HeapRegistry;
  friend Hold;
  template <class, class, class>
  friend class HeapRoll;
  // Owners that have let so many come in their stead are taken for asleep.
  static constexpr uint8_t kVisitsOfASleeper = 64;
  // Bytes of slabs from which on a heap has proved to grow.
  static constexpr size_t kGrownHeap = size_t{4} << 20;
  using SlabList = List<Slab, &Slab::in_bin>;

  struct Bin {
    SlabList partial;  // slabs with live blocks and with blocks to give
    SlabList empty;    // slabs without live blocks: drawn from when there is no partial one
    OwnerCounter slabs;
    OwnerCounter out;
    OwnerCounter full_slabs;
    uint8_t drawn = 0;  // it has given blocks since these visitors last came by
  };

  void set_thread_count(size_t threads) { threads_.store(threads, std::memory_order_relaxed); }
  Slab* next_sparse(Round& round);
  size_t purge_holes_of(Slab& slab, size_t worth);
  void begin_round();
  void end_round();
  void give_back_some();
  // More is free in slabs than may be kept of empty pages, for each thread that has the heap.
  bool has_too_much() const;
  void count_out(size_t size_class, size_t blocks);
  void count_home(size_t size_class, size_t blocks);
  Slab* slab_to_draw_from(size_t size_class);
  Slab* take_empty(size_t size_class);
  bool recut_empty(size_t size_class);
  bool make_slabs(size_t size_class);
  bool cut_slab(size_t size_class, Span* span);
  SpanBatch spans_for(const SizeClass& sizes, Paging paging);
  Paging paging_for(size_t size_class);
  void insert(Slab* slab);
  void tag_pages(const Slab& slab);
  Span* take_apart(Slab* slab);
  size_t most_empty() const;
  void give_empty_away(size_t size_class);
  void regret(size_t bytes);
  void give_up_extra(size_t bytes);
  void fetch_records(void* const* blocks, size_t count) const;
  size_t put_home(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count);
  void set_full(Slab& slab);
  void relist(Slab& slab);
  auto opens() {
    return [this](SlabRemoteFrees& remote) { open(remote); };
  }
  void note_visit();
  // No owner is expected to want anything soon.
  bool is_asleep() const { return visits_ >= kVisitsOfASleeper; }
  void begin_hold();
  void end_hold();
  bool try_visit();
  void begin_visit();
  void begin_look();
  void end_visit();
  void open(SlabRemoteFrees& remote);
  static void deliver(SlabRemoteFrees& remote, SlabHeap& owner);
  void post(size_t size_class, void* const* blocks, size_t count);
  const char* check_listed(const Slab& slab, size_t size_class) const;

  // What senders touch comes first, in a line of its own.
  Mailbox<SlabRemoteFrees, StdAtomics, Lock> mailbox_;
  const uint16_t id_;
  uint8_t visits_ = kVisitsOfASleeper;  // since an owner last came by, no more than matters
  OwnerCounter blocks_mailed_;          // modulo 2^64
  OwnerCounter bytes_mailed_;
  BellMark ages_;
  std::atomic<bool> is_owner_in_{false};  // for its signal handlers
  bool is_shared_ = false;                // nobody's for ever, yet in use

  alignas(kCacheLine) HeapRegistry& registry_;
  SlabHeap* next_abandoned_ = nullptr;  // the roll's
  std::atomic<size_t> threads_{0};      // likewise
  HeapCaches caches_;
  SlabRecords slabs_;
  OwnerCounter slab_count_;
  size_t slab_bytes_ = 0;
  size_t out_bytes_ = 0;
  size_t empty_bytes_ = 0;
  size_t empty_extra_ = 0;  // bytes of empty slabs kept beyond the usual
  size_t given_away_ = 0;   // bytes of empty slabs released for want of budget, and not missed since
  Round owners_{.visitor = kItsOwner};
  uint32_t aged_at_ = 0;  // milliseconds
  OwnerCounter batches_sent_;
  Bin bins_[kMaxClasses];
};

// Another thread holds the lock, or one that has no heap, and has brought home what had come.
class SlabHeap::Visit {
 public:
  // Waits for the lock.
  explicit Visit(SlabHeap& heap) : heap_(heap) { heap_.begin_visit(); }
  ~Visit() { heap_.end_visit(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  SlabHeap& heap_;
};

// Another thread looks at something, or takes a block that is free: nothing is done in the owners' stead, which says
// nothing of whether they sleep.
class SlabHeap::Look {
 public:
  explicit Look(SlabHeap& heap) : heap_(heap) { heap_.begin_look(); }
  ~Look() { heap_.end_visit(); }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

 private:
  SlabHeap& heap_;
};

}  // namespace snug
