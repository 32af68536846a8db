// MetaArena: memory for snug's own records, out of band. User blocks and records share an OS page only where the span
// store lends a page and OS pages are longer than snug's 16 KiB.
//
// Records are cut from mappings of 1 MiB (down to 64 KiB where the OS refuses), backed only where touched, and never
// given back: each user of the arena keeps its free records in a free list (RecordPool). Where the OS refuses a
// mapping, the span store gives pages of its own (span/span_store_records.cpp).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/in_place.h"
#include "base/lock.h"
#include "base/units.h"

namespace snug {

class alignas(kCacheLine) MetaArena {
 public:
  constexpr MetaArena() = default;

  // From now on each mapping lies between two write-protected OS pages, so that a program that runs over the end of its
  // own memory reaches no record. To be called before the first record is allocated.
  void guard() { is_guarded_ = true; }

  // Zeroed memory aligned to 64 bytes, never given back, or null. Thread-safe, O(1). The caller may hold any lock but
  // this one: memory is mapped ahead (stock_as_due()). Only where that was not enough it maps here: the one system call
  // under a shared lock that is allowed (base/shared_holds.h).
  void* allocate(size_t bytes);

  // A mapping of its own, for a table that is longer than a record: zeroed, in whole OS pages, between two guard pages
  // if guard() was called. Null if the OS refuses. Thread-safe, a system call or two.
  void* map(size_t bytes) const;
  // Gives back to the OS what map() returned for so many bytes, guard pages included. A system call: under no shared
  // lock.
  void release(void* start, size_t bytes) const;

  // A page of the caller's (kPageSize, writable) becomes memory for records, for where the OS gives none; it is cleared
  // here. False, and it stays the caller's, while nearly as much is left, or if guard() was called.
  bool adopt_page(void* page);
  // True if it would, and the OS gives nothing now. For a thread that holds no lock.
  bool wants_page();
  bool is_guarded() const { return is_guarded_; }

  // Maps ahead of need where little is left, because callers of allocate() hold locks under which no system call may
  // happen. Every thread calls this in a slow operation, while it holds no lock. One load if enough is left.
  void stock_as_due() {
    if (is_low_.load(kRelaxed)) [[unlikely]]
      stock_ahead();
  }

  // Calls visit(first byte, end) for each mapping that records were cut from. Thread-safe.
  template <class Visit>
  void for_each_mapping(Visit visit) const {
    for (const Link* link = newest_.load(kAcquire); link != nullptr; link = link->before)
      visit(address_of(link), link->end);
  }

  // Of records, so far; and of those that lie in mappings, as pages of the span store's count there.
  size_t bytes_used() const { return bytes_held() + used_of_pages_.load(kRelaxed); }
  size_t bytes_held() const { return used_.load(kRelaxed); }
  size_t bytes_mapped() const { return mapped_.load(kRelaxed); }

  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  friend constexpr uint64_t layout_of_records(size_t allocator_bytes);

  struct Mapping {
    uintptr_t cursor = 0;
    uintptr_t end = 0;
    bool is_adopted = false;  // a page of the span store's
    size_t left() const { return end - cursor; }
  };
  // The first record of each mapping names the one before.
  struct Link {
    const Link* before;
    uintptr_t end;
  };
  static constexpr size_t kLinkBytes = kCacheLine;

  void use(Mapping mapping) SNUG_REQUIRES(lock_);
  bool is_short() const SNUG_REQUIRES(lock_);

  // Maps a reserve for so many bytes, unless another thread was first. False if the OS refuses. A system call.
  bool stock(size_t bytes) SNUG_EXCLUDES(lock_);
  bool stock_late(size_t bytes) SNUG_EXCLUDES(lock_);
  void stock_ahead();

  bool is_guarded_ = false;
  Atomic<bool> is_low_{true};  // and nothing is in reserve

  alignas(kCacheLine) SharedLock lock_;
  Mapping current_ SNUG_GUARDED_BY(lock_);
  Mapping reserve_ SNUG_GUARDED_BY(lock_);
  Atomic<const Link*> newest_{nullptr};
  Atomic<size_t> used_{0};
  Atomic<size_t> used_of_pages_{0};
  Atomic<size_t> mapped_{0};
};

// A piece of the arena's memory, out of which one user of it cuts records, so that it seldom takes the arena's lock,
// which all threads share. Each piece is twice as long as the one before: what is not cut yet takes addresses alone.
// The caller holds the lock that guards the piece.
class ArenaPiece {
 public:
  static constexpr size_t kLongest = size_t{32} << 10;

  // `bytes` of the first piece: some times the longest record, as what is left of one when the next is taken is lost.
  explicit constexpr ArenaPiece(MetaArena& arena, size_t bytes = kLongest / 8) : arena_(arena), bytes_(bytes) {}

  // Zeroed memory of so many bytes, aligned to 64, never given back; null if the OS refuses. O(1).
  void* cut(size_t bytes) {
    bytes = round_up(bytes, kCacheLine);
    if (left_ < bytes && !take(max(bytes, bytes_)) && !take(bytes)) return nullptr;
    left_ -= bytes;
    return exchange(next_, next_ + bytes);
  }

 private:
  bool take(size_t bytes) {
    auto* const piece = static_cast<char*>(arena_.allocate(bytes));
    if (piece == nullptr) return false;
    next_ = piece;
    left_ = bytes;
    bytes_ = min(2 * bytes_, kLongest);
    return true;
  }

  MetaArena& arena_;
  size_t bytes_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

// A free list of records of one type over the arena. The caller holds the lock that guards the list.
template <class T>
class RecordPool {
 public:
  explicit constexpr RecordPool(MetaArena& arena) : piece_(arena) {}

  // True if the next `count` records are there. O(count).
  bool prepare(size_t count) {
    while (!holds(count)) {
      void* const record = piece_.cut(sizeof(T));
      if (record == nullptr) return false;
      add(record);
    }
    return true;
  }
  T* make() {
    if (!prepare(1)) return nullptr;
    Free* record = free_;
    free_ = record->next;
    return ::new (InPlace{static_cast<void*>(record)}) T{};
  }
  void recycle(T* record) {
    record->~T();
    add(record);
  }

 private:
  struct Free {
    Free* next;
  };
  static_assert(sizeof(T) >= sizeof(Free));

  // True if so many records are in the list. O(count).
  bool holds(size_t count) const {
    const Free* record = free_;
    for (; count != 0 && record != nullptr; --count) record = record->next;
    return count == 0;
  }
  void add(void* record) { free_ = ::new (InPlace{record}) Free{free_}; }

  ArenaPiece piece_;
  Free* free_ = nullptr;
};

}  // namespace snug
