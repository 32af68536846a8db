// HeapSlabRecords: memory out of the arena for the records of user heaps' slabs, which all heaps share: what a heap
// leaves serves the next. Thread-safe.
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/in_place.h"
#include "base/lock.h"
#include "heap/heap_slab.h"
#include "span/meta_arena.h"

namespace snug {

class HeapSlabRecords {
 public:
  explicit constexpr HeapSlabRecords(MetaArena& arena) : arena_(arena) {}

  // A record for a slab of up to 64 * `words` blocks; null if the OS refuses memory.
  HeapSlab* make(size_t words) {
    const size_t bytes = HeapSlab::record_bytes(words);
    void* memory = nullptr;
    {
      LockGuard guard(lock_);
      Free*& list = free_[bytes / kCacheLine];
      memory = list;
      if (memory != nullptr) list = list->next;
    }
    if (memory == nullptr) memory = arena_.allocate(bytes);
    if (memory == nullptr) return nullptr;
    memset(memory, 0, bytes);
    return ::new (InPlace{memory}) HeapSlab;
  }
  void recycle(HeapSlab& record, size_t words) {
    LockGuard guard(lock_);
    Free*& list = free_[HeapSlab::record_bytes(words) / kCacheLine];
    list = ::new (InPlace{static_cast<void*>(&record)}) Free{list};
  }

  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  struct Free {
    Free* next;
  };

  MetaArena& arena_;
  SharedLock lock_;
  Free* free_[HeapSlab::record_bytes(HeapSlab::kMostWords) / kCacheLine + 1] SNUG_GUARDED_BY(lock_) = {};
};

}  // namespace snug
