// ArrayStore: memory for the arrays of the thread caches, in powers of two from 16 to 1024 places, with a null below
// the first (thread/thread_state.h). None lies across a multiple of 2^31 places (thread/array_ends.h). An array that
// has been outgrown serves another class or thread.
#pragma once

#include <stddef.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/lock.h"
#include "span/meta_arena.h"
#include "span/per_home.h"

namespace snug {

class alignas(kCacheLine) ArrayStore {
 public:
  static constexpr size_t kLeastPlaces = 16;
  static constexpr size_t kMostPlaces = 1024;

  explicit constexpr ArrayStore(MetaArena& arena) : piece_(arena, ArenaPiece::kLongest) {}

  // An array of `places` (a power of two in range); null if the OS refuses memory. Thread-safe.
  void** take(size_t places);
  // Exchanges an array of `had` places for one of `places`, and copies the first `held` entries into it; null, and
  // nothing has changed, if the OS refuses memory.
  void** exchange(void** array, size_t had, size_t held, size_t places);
  class Returns;

  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  static constexpr size_t kSizes = log2_floor(kMostPlaces / kLeastPlaces) + 1;  // 16, 32 … 1024

  void** pop(size_t places) SNUG_REQUIRES(lock_);
  void push(void** array, size_t places) SNUG_REQUIRES(lock_);
  void** cut(size_t places) SNUG_REQUIRES(lock_);

  SharedLock lock_;
  ArenaPiece piece_ SNUG_GUARDED_BY(lock_);
  void** free_[kSizes] SNUG_GUARDED_BY(lock_) = {};  // linked through their first place
};

using ArrayStores = PerHome<ArrayStore>;

// Collects arrays and gives all of them back when it ends, under one hold of the lock.
class ArrayStore::Returns {
 public:
  explicit Returns(ArrayStore& allocator) : store_(allocator) {}
  ~Returns();
  Returns(const Returns&) = delete;
  Returns& operator=(const Returns&) = delete;

  void add(void** array, size_t places);

 private:
  ArrayStore& store_;
  void** first_[kSizes] = {};  // linked as the store's
  void** last_[kSizes] = {};
};

}  // namespace snug
