// pool/cache_table.h: how a thread finds its caches of pools (pool_thread_cache.h).
//
//   pool     a seat, which no other living pool has, and a number: the address of the record of its first cache, with
//            the seat modulo 64 in the bits that an address of a cache does not need
//   thread   all its caches, by the seats of their pools; and, by the seats modulo 64, those that it used last
//   cache    the number of its pool; its holders: the pool, a thread, or both
//
// A cache that a thread finds for a pool belongs to that pool if their numbers are equal. A seat goes to another pool
// when its pool ends; a number does not, while a thread may still have a cache with it. With up to 64 living pools each
// is found at once; with more, pools that share a seat modulo 64 and are used alternately cost some more instructions.
//
// Neither a thread's end nor a pool's looks for the other. Each lets go of its caches, and the last holder of a cache
// frees its record. So there is no list of pools or threads, and no lock that a fork could leave locked in the child;
// and a thread's end reads no memory of an unloaded plugin: all caches are memory of snug's heap.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "snug/pool/source.h"
#include "snug/pool/store.h"

namespace snug {

// Two caches that shared a line would have their threads wait for each other.
struct alignas(64) PoolCache {
  enum Holder : unsigned { kThread = 1, kPool = 2 };
  static constexpr std::uintptr_t kNoPool = ~std::uintptr_t{0};  // the number of no pool

  std::atomic<std::uintptr_t> number;
  PoolSlot* current;
  PoolSlot* spare;    // a batch, or null
  std::size_t count;  // in current; 0 if that is null
  std::size_t batch;  // the most slots in current
  std::size_t spare_count;
  PoolCache* next;  // of the pool
  std::atomic<unsigned> holders;

  // Makes a cache that a pool holds. Null if there is no memory.
  static PoolCache* make() noexcept {
    void* const memory = HeapSource::allocate(sizeof(PoolCache), alignof(PoolCache));
    return memory != nullptr ? ::new (memory) PoolCache{{kNoPool}, nullptr, nullptr, 0, 1, 0, nullptr, {kPool}}
                             : nullptr;
  }
  // True if its thread has let go. The caller then sees all that the thread has written to it (acquire).
  bool is_abandoned() const noexcept { return holders.load(std::memory_order_acquire) == kPool; }
  static void let_go(PoolCache* cache, Holder holder) noexcept {
    if (cache->holders.fetch_and(~unsigned{holder}, std::memory_order_acq_rel) == holder)
      HeapSource::deallocate(cache, sizeof(PoolCache), alignof(PoolCache));
  }
};

// The entry of a table that has no cache there.
inline constinit PoolCache no_pool_cache{{PoolCache::kNoPool}, nullptr, nullptr, 0, 1, 0, nullptr, {0}};

// A thread's table. It has no destructor, so that it can be used before and after those of all other objects.
class PoolCacheTable {
 public:
  static constexpr std::size_t kLatest = 64;
  static_assert(kLatest == alignof(PoolCache), "a number is an address, and a seat modulo kLatest");

  constexpr PoolCacheTable() {
    for (PoolCache*& cache : latest_) cache = &no_pool_cache;
  }

  // Null if it is not among those used last.
  PoolCache* find(std::uintptr_t number) const noexcept {
    PoolCache* const cache = latest_[number % kLatest];
    return cache->number.load(std::memory_order_relaxed) == number ? cache : nullptr;
  }

  // Null if the thread has no cache of that pool.
  PoolCache* find_among_all(std::uintptr_t number, std::size_t seat) noexcept {
    if (seat >= count_ || all_[seat]->number.load(std::memory_order_relaxed) != number) return nullptr;
    return latest_[number % kLatest] = all_[seat];
  }

  // Puts the cache into its seat, in which a dead pool's may still be. False if there is no memory.
  bool put(std::size_t seat, PoolCache* cache) noexcept {
    if (seat >= count_ && !grow(std::bit_ceil(seat + 1))) return false;
    let_go(all_[seat]);
    all_[seat] = latest_[seat % kLatest] = cache;
    return true;
  }

  // Called at the thread's end: lets go of all caches, and takes no others.
  void close() noexcept {
    const PoolCacheTable old = *this;
    *this = PoolCacheTable();
    is_closed_ = true;
    for (std::size_t i = 0; i < old.count_; ++i) let_go(old.all_[i]);
    if (old.count_ != 0) HeapSource::deallocate(old.all_, old.count_ * sizeof(PoolCache*), alignof(PoolCache*));
  }
  bool is_closed() const noexcept { return is_closed_; }

 private:
  static constexpr std::size_t kFewest = 16;

  static void let_go(PoolCache* cache) noexcept {
    if (cache != &no_pool_cache) PoolCache::let_go(cache, PoolCache::kThread);
  }
  bool grow(std::size_t wanted) noexcept {
    const std::size_t count = std::max(wanted, kFewest);
    auto** const all = static_cast<PoolCache**>(HeapSource::allocate(count * sizeof(PoolCache*), alignof(PoolCache*)));
    if (all == nullptr) return false;
    std::fill_n(std::copy_n(all_, count_, all), count - count_, &no_pool_cache);
    if (count_ != 0) HeapSource::deallocate(all_, count_ * sizeof(PoolCache*), alignof(PoolCache*));
    all_ = all;
    count_ = count;
    return true;
  }

  PoolCache* latest_[kLatest];
  PoolCache** all_ = nullptr;
  std::size_t count_ = 0;
  bool is_closed_ = false;
};
inline constinit thread_local PoolCacheTable pool_cache_table;

// Its destructor runs at the end of each thread that has called arm().
class PoolThreadEnd {
 public:
  ~PoolThreadEnd() { pool_cache_table.close(); }
  void arm() noexcept { armed_ = true; }

 private:
  bool armed_ = false;
};
inline thread_local PoolThreadEnd pool_thread_end;

// Gives each living pool a seat of its own, the lowest that is free. Without a lock, for the sake of fork.
class PoolSeats {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // kNone if there are more pools than seats.
  static std::size_t take() noexcept {
    for (std::size_t word = 0; word < kWords; ++word) {
      uint64_t taken = taken_[word].load(std::memory_order_relaxed);
      while (taken != ~uint64_t{0}) {
        const uint64_t lowest = ~taken & (taken + 1);
        if ((taken_[word].fetch_or(lowest, std::memory_order_relaxed) & lowest) == 0)
          return word * 64 + static_cast<std::size_t>(std::countr_zero(lowest));
        taken = taken_[word].load(std::memory_order_relaxed);
      }
    }
    return kNone;
  }
  static void give_back(std::size_t seat) noexcept {
    taken_[seat / 64].fetch_and(~(uint64_t{1} << seat % 64), std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kWords = 1024;
  static inline constinit std::atomic<uint64_t> taken_[kWords]{};
};

}  // namespace snug
