// The records of user heaps' slabs, in memory out of the arena. HeapSlabRecords is what all heaps share: what one
// leaves serves the next. HeapSlabStock is what a heap has to spare, so that a heap of many slabs asks the others
// seldom. Between the two records go in bundles.
//
//   a bundle has 1 to kBundle records of one length;   a stock has less than 2 * kBundle of each length
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/in_place.h"
#include "base/lock.h"
#include "heap/heap_slab.h"
#include "span/meta_arena.h"

namespace snug {

// The memory of a record that is none now.
struct FreeHeapSlab {
  FreeHeapSlab* next = nullptr;
  FreeHeapSlab* next_bundle = nullptr;  // of the first in a bundle
  uint32_t count = 1;                   // of records in the bundle, from this one on

  static uint32_t count_from(const FreeHeapSlab* chain) { return chain == nullptr ? 0 : chain->count; }
  // True if each record of the chain counts those from it on, of which there are at most so many.
  static bool is_chain(const FreeHeapSlab* chain, uint32_t most) {
    if (count_from(chain) > most) return false;
    for (; chain != nullptr; chain = chain->next)
      if (chain->count != count_from(chain->next) + 1) return false;
    return true;
  }
};

// Thread-safe.
class HeapSlabRecords {
 public:
  static constexpr uint32_t kBundle = 16;
  // A record's length is in cache lines.
  static constexpr size_t kMostLines = HeapSlab::record_bytes(HeapSlab::kMostWords) / kCacheLine;

  explicit constexpr HeapSlabRecords(MetaArena& arena) : arena_(arena) {}

  // A bundle; of one record if no heap has left any. Null if the OS refuses memory.
  FreeHeapSlab* take(size_t lines) {
    {
      LockGuard guard(lock_);
      FreeHeapSlab* const bundle = bundles_[lines];
      if (bundle != nullptr) {
        bundles_[lines] = bundle->next_bundle;
        return bundle;
      }
    }
    void* const memory = arena_.allocate(lines * kCacheLine);
    return memory == nullptr ? nullptr : ::new (InPlace{memory}) FreeHeapSlab;
  }
  void give(FreeHeapSlab* bundle, size_t lines) {
    LockGuard guard(lock_);
    bundle->next_bundle = bundles_[lines];
    bundles_[lines] = bundle;
  }
  // Null, or the broken part of the invariant.
  const char* check() {
    LockGuard guard(lock_);
    for (const FreeHeapSlab* bundle : bundles_)
      for (; bundle != nullptr; bundle = bundle->next_bundle)
        if (!FreeHeapSlab::is_chain(bundle, kBundle)) return "user heaps: a bundle of records is counted wrong";
    return nullptr;
  }

  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  MetaArena& arena_;
  SharedLock lock_;
  FreeHeapSlab* bundles_[kMostLines + 1] SNUG_GUARDED_BY(lock_) = {};
};

// The caller holds the heap's lock.
class HeapSlabStock {
 public:
  explicit constexpr HeapSlabStock(HeapSlabRecords& shared) : shared_(shared) {}

  // A record for a slab of up to 64 * `words` blocks; null if the OS refuses memory.
  HeapSlab* make(size_t words) {
    const size_t lines = lines_of(words);
    FreeHeapSlab*& first = first_[lines];
    if (first == nullptr) first = shared_.take(lines);
    if (first == nullptr) return nullptr;
    FreeHeapSlab* const memory = first;
    first = memory->next;
    memset(static_cast<void*>(memory), 0, lines * kCacheLine);
    return ::new (InPlace{static_cast<void*>(memory)}) HeapSlab;
  }
  void recycle(HeapSlab& record, size_t words) {
    const size_t lines = lines_of(words);
    FreeHeapSlab*& first = first_[lines];
    FreeHeapSlab* const before = first;
    first = ::new (InPlace{static_cast<void*>(&record)}) FreeHeapSlab;
    first->next = before;
    first->count = FreeHeapSlab::count_from(before) + 1;
    if (first->count == 2 * HeapSlabRecords::kBundle) give_bundle(lines);
  }
  // What the heap has left when it ends.
  void give_all() {
    for (size_t lines = 1; lines <= HeapSlabRecords::kMostLines; ++lines)
      while (first_[lines] != nullptr) give_bundle(lines);
  }
  // Null, or the broken part of the invariant.
  const char* check() const {
    for (const FreeHeapSlab* first : first_)
      if (!FreeHeapSlab::is_chain(first, 2 * HeapSlabRecords::kBundle - 1))
        return "user heap: its free records are counted wrong";
    return nullptr;
  }

 private:
  static size_t lines_of(size_t words) { return HeapSlab::record_bytes(words) / kCacheLine; }
  // The ones that were left last.
  void give_bundle(size_t lines) {
    FreeHeapSlab* const bundle = first_[lines];
    FreeHeapSlab* last = bundle;
    for (uint32_t number = 1; number != HeapSlabRecords::kBundle && last->next != nullptr; ++number) last = last->next;
    first_[lines] = last->next;
    const uint32_t left = FreeHeapSlab::count_from(last->next);
    last->next = nullptr;
    for (FreeHeapSlab* record = bundle; record != nullptr; record = record->next) record->count -= left;
    shared_.give(bundle, lines);
  }

  HeapSlabRecords& shared_;
  FreeHeapSlab* first_[HeapSlabRecords::kMostLines + 1] = {};
};

}  // namespace snug
