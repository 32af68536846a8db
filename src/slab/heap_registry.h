// HeapRegistry: every slab heap by its id, those without a thread, and what all heaps share.
//
// Lock order: registry -> heap -> span store, large store, arena. The shared heap's lock comes before the registry's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/lock.h"
#include "os/doorbell.h"
#include "size/class_table.h"
#include "slab/slab_heap.h"
#include "span/meta_arena.h"
#include "span/span_store.h"

namespace snug {

class HeapRegistry {
 public:
  constexpr HeapRegistry(MetaArena& arena, SpanStore& spans) : arena_(arena), spans_(spans) {}

  // To be rung when blocks come home to a heap without a thread.
  void set_bell(Doorbell& bell) { bell_ = &bell; }

  // Before any other use; false if the OS refuses memory.
  bool open(const ClassTable& table);

  // A heap for a new thread: an abandoned one if there is any. Null if the OS refuses memory or all ids are in use.
  SlabHeap* acquire();
  // The thread of this heap is gone; its cache has been flushed.
  void abandon(SlabHeap& heap);
  // Moves a slab of the class from an abandoned heap to `heir`; false if none has one.
  bool adopt_slab(size_t size_class, SlabHeap& heir);

  // Serves threads that have no heap of their own: at their very end, or when ids run out. Slow, one block at a time.
  void* allocate_shared(size_t size_class);
  // Serves the first needs of threads that have one: up to `groups` times whole cache lines, as SlabHeap::take_group.
  size_t take_shared(size_t size_class, void** end, size_t groups);

  // Sends blocks to the heap with this id. Any thread.
  void send(Parcel* parcel, uint16_t owner);
  void send_lone(void* block, uint16_t owner, uint32_t bytes);
  // Blocks and bytes sent alone; received ones are counted by the heaps (SlabHeap::blocks_mailed).
  int64_t blocks_mailed() const { return lone_blocks_.load(std::memory_order_relaxed); }
  int64_t bytes_mailed() const { return lone_bytes_.load(std::memory_order_relaxed); }

  // Empty parcels, shared by all heaps beyond the few that each keeps. take_parcel is null if the OS refuses memory.
  Parcel* take_parcel();
  void give_parcel(Parcel* parcel);

  // Empties the inboxes of all abandoned heaps, gives their empty slabs back and purges holes. Returns the bytes purged
  // in holes.
  size_t trim_abandoned();
  // Purges holes in a few slabs of one heap without a thread to which nothing has come home for that long.
  Purge purge_overdue(uint32_t milliseconds);
  // True if such a heap will be overdue some day.
  bool ages();

  // Empty slabs that heaps keep beyond the usual, `bytes` more or less: a bound for the whole process, since a heap
  // whose thread sleeps keeps what it has. False if there is no more to grant.
  bool grant_extra(size_t bytes);
  void return_extra(size_t bytes) { extra_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Asks every running thread to give back what it can when it next looks, in one of its slow operations.
  void request_trim() { trim_requests_.fetch_add(1, std::memory_order_relaxed); }
  uint32_t trim_requests() const { return trim_requests_.load(std::memory_order_relaxed); }
  // Bytes that heaps have purged inside slabs so far.
  void count_holes(size_t bytes) { bytes_in_holes_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t bytes_in_holes() const { return bytes_in_holes_.load(std::memory_order_relaxed); }

  SlabHeap* heap(uint16_t id) const { return heaps_[id].load(std::memory_order_acquire); }
  size_t heap_count() const { return heap_count_.load(std::memory_order_acquire); }
  size_t abandoned_count() const { return abandoned_count_.load(std::memory_order_relaxed); }
  MetaArena& arena() { return arena_; }
  SpanStore& spans() { return spans_; }
  Window& window() { return spans_.window(); }
  const ClassTable& table() const { return *table_; }

  // True if nobody holds a lock of this layer that sending blocks home may wait for.
  bool is_at_rest() const { return !shared_->lock_.is_held() && !lock_.is_held() && !parcel_lock_.is_held(); }

  // Takes and drops every lock of this layer, in order: while held, no abandoned heap is in the middle of anything.
  void lock_all();
  void unlock_all();
  // In the child of a fork: opens the locks of heaps that have a thread. Nothing in such a heap is guarded by its lock,
  // yet whoever looked for mail of an abandoned one, which has come alive again meanwhile, may have held it.
  void open_heaps_in_child();

  const char* check_abandoned();

 private:
  static constexpr size_t kMaxHeaps = size_t{1} << 16;

  SlabHeap* make_heap();
  void retire_bare();
  template <class Visit>
  void for_each_without_thread(Visit visit);
  void collect(SlabHeap& heap);
  void note_change(SlabHeap& heap);

  MetaArena& arena_;
  SpanStore& spans_;
  const ClassTable* table_ = nullptr;
  Lock lock_;
  SlabHeap* abandoned_ = nullptr;  // without a thread, but with slabs when last looked at
  SlabHeap* spare_ = nullptr;      // without either
  std::atomic<size_t> abandoned_count_{0};
  std::atomic<size_t> heap_count_{0};  // ids 1 … heap_count exist
  std::atomic<SlabHeap*>* heaps_ = nullptr;
  SlabHeap* shared_ = nullptr;
  std::atomic<size_t> extra_{0};
  std::atomic<uint32_t> trim_requests_{0};
  std::atomic<uint64_t> bytes_in_holes_{0};
  std::atomic<int64_t> lone_blocks_{0};
  std::atomic<int64_t> lone_bytes_{0};
  Doorbell* bell_ = nullptr;
  Lock parcel_lock_;
  Parcel* parcels_ = nullptr;
};

}  // namespace snug
