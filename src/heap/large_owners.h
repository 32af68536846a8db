// LargeOwners: which user heap a large block belongs to. Large blocks of user heaps lie where all large blocks do
// (span/large_blocks.h); what is kept here is a record of each, found by the block's start. A hash table of chains,
// made with the first such block: a process without one pays a load where it frees a large block.
//
//   size() == records in the table;   each is in the list of its heap
//
// Thread-safe. A record's block and bytes are its heap's: the caller that frees or resizes a block is its only user.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include "span/meta_arena.h"

namespace snug {

class UserHeap;

struct HeapLarge {
  ListLink<HeapLarge> in_heap;  // under the heap's lock
  HeapLarge* next = nullptr;    // in its chain
  void* start = nullptr;
  UserHeap* heap = nullptr;
  size_t bytes = 0;
};

class LargeOwners {
 public:
  explicit constexpr LargeOwners(MetaArena& arena) : arena_(arena), records_(arena) {}

  // A record for a block to come; null if the OS refuses memory. The caller holds no lock.
  HeapLarge* make();
  // The record's block is known from now on. The caller holds the lock of its heap, and so for take().
  void insert(HeapLarge* record);
  // The record of the block that starts there, or null. It stays while the block is live.
  HeapLarge* find(const void* start);
  // True if the record is among those inserted. Two blocks may start at one address: a heap's region may lie in
  // another's block.
  bool has(const HeapLarge& record);
  // As find(), and the block is not known any more; the caller gives the record back.
  HeapLarge* take(const void* start);
  void recycle(HeapLarge* record);

  bool empty() const { return size_.load(kRelaxed) == 0; }
  size_t size() const { return size_.load(kRelaxed); }
  // Null, or the broken part of the invariant; the list of a heap is its holder's to compare.
  const char* check();
  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  // As many chains as keep those of ten thousand blocks at two or three records; the table takes two of our pages.
  static constexpr size_t kChains = 4096;

  HeapLarge*& chain_of(const void* start) const;
  HeapLarge** link_to(const void* start) SNUG_REQUIRES(lock_);

  MetaArena& arena_;
  SharedLock lock_;
  Atomic<HeapLarge**> chains_{nullptr};
  Atomic<size_t> size_{0};
  RecordPool<HeapLarge> records_ SNUG_GUARDED_BY(lock_);
};

}  // namespace snug
