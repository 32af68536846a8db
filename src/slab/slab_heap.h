// SlabHeap: the slabs that one thread owns, and the two ways batches of blocks pass between them and its cache.
//
//   refill   blocks out of a parcel of their class that has come, else out of the slabs, in address order, recycled
//            ones before never-used ones
//   flush    blocks back: into their slabs if this heap owns them, else in a parcel to the inbox of the owner
//
// Empty slabs are kept up to a budget. It grows while slabs that were given away are missed, and shrinks with age.
//
// At any time one thread owns a heap: the live thread it was given to, or, once abandoned, whoever holds its lock. Only
// the owner calls the functions below, except where they say otherwise. A dead thread's heap is given whole to the next
// new thread; until then living ones adopt its slabs as they need them, and whoever frees one of its blocks empties its
// inbox. So nothing is lost, and nothing waits for a thread that will not come.
//
//   per class:   out == sum of used over its slabs; those that have a block to give are in its list, in any order
//   all slabs:   empty_bytes_ == bytes of slabs of which nothing is used
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/list.h"
#include "base/lock.h"
#include "base/owner_counter.h"
#include "size/class_table.h"
#include "slab/inbox.h"
#include "slab/slab.h"
#include "slab/whole_use.h"
#include "span/meta_arena.h"
#include "span/span_store.h"

namespace snug {

class HeapRegistry;
class Outbox;

class alignas(64) SlabHeap {
 public:
  SlabHeap(HeapRegistry& registry, uint16_t id);

  // Writes up to `want` blocks of `size_class` to end[-1], end[-2] …, ascending within a slab, so that an array which
  // ends there hands them out in address order. Returns how many: at least one, or 0 if the OS refuses.
  size_t refill(size_t size_class, void** end, size_t want);

  // Writes the blocks of whole cache lines (SizeClass::line_group) to end[-1], end[-2] …; returns how many, or 0 if the
  // OS refuses. For a heap that gives only so.
  size_t take_group(size_t size_class, void** end);

  // Takes `count` blocks of one class and any owners. Ends the process if one of them is not a block, or is free.
  void flush(size_t size_class, void* const* blocks, size_t count);

  void empty_inbox();

  // Any thread: sends blocks home that belong to this heap.
  void receive(Parcel* parcel) { inbox_.push(parcel); }
  void receive_lone(void* block) { inbox_.push_lone(block); }
  bool has_mail() const { return !inbox_.empty(); }
  bool has_mail_now() const { return !inbox_.empty_now(); }

  // Sending, for the outbox. new_parcel() is null if no memory can be had; a block then travels alone.
  Parcel* new_parcel();
  void post(Parcel* parcel, uint16_t owner);
  void post_lone(void* block, uint16_t owner, size_t size_class);

  // Gives empty slabs to the span store until no more than `keep` bytes of them are left.
  void release_empty(size_t keep);
  // Called now and then: gives up what was kept for a use that has not come.
  void age();
  // Gives the OS the OS pages inside partial slabs that hold no live block. Returns the bytes given back.
  size_t purge_holes();
  // The same until `most` slabs have given something. Adds the bytes to `*bytes`; returns how many slabs it was.
  size_t purge_some_holes(size_t most, size_t* bytes);

  // Moves one partial slab of the class to `heir`; false if there is none. The caller owns both heaps.
  bool give_slab(size_t size_class, SlabHeap& heir);

  // True if a refill of the class needs no new slab.
  bool has_blocks(size_t size_class) const {
    return !bins_[size_class].partial.empty() || !bins_[size_class].empty.empty();
  }

  uint16_t id() const { return id_; }
  Lock& lock() { return lock_; }

  // Any thread, racy: blocks of the class outside of slabs (live or cached), and the slabs of the class.
  uint64_t blocks_out(size_t size_class) const { return bins_[size_class].out.get(); }
  uint64_t slab_count(size_t size_class) const { return bins_[size_class].slabs.get(); }
  uint64_t slab_count() const { return slab_count_.get(); }
  uint64_t parcels_sent() const { return parcels_sent_.get(); }
  // Any thread, racy: blocks and bytes that this heap has sent, less those it has received. Summed over all heaps, with
  // the registry's, what is on its way: free already, but still out of its slab.
  int64_t blocks_mailed() const { return static_cast<int64_t>(blocks_mailed_.get()); }
  int64_t bytes_mailed() const { return static_cast<int64_t>(bytes_mailed_.get()); }

  const char* check() const;

 private:
  friend class HeapRegistry;
  using SlabList = List<Slab, &Slab::in_bin>;

  struct Bin {
    SlabList partial;  // slabs with live blocks and with blocks to give
    SlabList empty;    // slabs without live blocks: drawn from when there is no partial one
    OwnerCounter slabs;
    OwnerCounter out;
    PageId newest;  // where its newest slab of small pages begins, or began
    WholeUse use;
  };

  Slab* slab_to_draw_from(size_t size_class);
  Slab* take_empty(size_t size_class);
  bool make_slab(size_t size_class);
  Span* span_for(const SizeClass& sizes, Paging paging);
  Paging paging_for(size_t size_class);
  bool uses_blocks_whole(size_t size_class);
  void insert(Slab* slab);
  void tag_pages(const Slab& slab);
  void release(Slab* slab);
  bool keeps_too_many_empty() const;
  bool is_abandoned() const { return abandoned_.load(std::memory_order_relaxed); }
  void regret(size_t bytes);
  void give_up_extra(size_t bytes);
  void fetch_records(void* const* blocks, size_t count) const;
  size_t put_home(Slab& slab, const SizeClass& sizes, void* const* blocks, size_t count);
  void set_full(Slab& slab);
  void settle(Slab& slab);
  void take_mail();
  void sort_mail(uint32_t most_waiting);
  bool are_live_and_ours(size_t size_class, void* const* blocks, size_t count);
  void let_wait(Parcel* parcel);
  void open_waiting();
  size_t take_waiting(size_t size_class, void** end, size_t want);
  void open_parcel(Parcel* parcel);
  void put_mail_home(void* const* blocks, size_t count, size_t size_class);
  void count_as_received(size_t blocks, size_t bytes);
  size_t bytes_in(const Parcel& parcel) const;
  size_t class_of(const void* block) const;
  const char* check_listed(const Slab& slab, size_t size_class) const;
  void recycle(Parcel* parcel);

  HeapRegistry& registry_;
  const uint16_t id_;
  std::atomic<bool> abandoned_{false};
  bool is_shared_ = false;   // nobody's for ever, yet in use
  Lock lock_;                // guards the heap while it is abandoned
  uint32_t changed_at_ = 0;  // abandoned: when blocks last came home
  bool ages_ = false;        // abandoned: no hole has been purged since
  SlabHeap* next_abandoned_ = nullptr;
  RecordPool<Slab> slabs_;
  OwnerCounter slab_count_;
  size_t slab_bytes_ = 0;
  size_t empty_bytes_ = 0;
  size_t empty_extra_ = 0;     // bytes of empty slabs kept beyond the usual
  size_t given_away_ = 0;      // bytes of empty slabs released for want of budget, and not missed since
  Parcel* waiting_ = nullptr;  // parcels received and not opened
  size_t waiting_bytes_ = 0;   // of the blocks in them
  uint32_t waiting_count_ = 0;
  Parcel* parcels_ = nullptr;  // empty ones, kept for sending
  uint32_t parcel_count_ = 0;
  OwnerCounter parcels_sent_;
  OwnerCounter blocks_mailed_;  // modulo 2^64
  OwnerCounter bytes_mailed_;
  Bin bins_[kMaxClasses];
  alignas(64) Inbox inbox_;
};

}  // namespace snug
