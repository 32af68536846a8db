// shared_pools.h: operations on all pools that PoolAllocator draws from, one for each size and alignment that
// containers request: a program does not name these pools, and they live until its end.
//
// Only pools that any thread may use are included, those of Locked and ThreadCached allocators. A program reaches the
// pool of a SingleThread allocator by PoolAllocator::pool(), when its thread may use it.
#pragma once

#include <cstddef>

#include "snug/pool.h"
#include "snug/pool/lock.h"

namespace snug {

class SharedPools {
 public:
  // Gives blocks without live elements back to snug's heap; returns how many bytes. Elements in the caches of running
  // threads count as live: up to two batches of each pool. Any thread may call it.
  static std::size_t release_unused() noexcept {
    std::size_t released = 0;
    const PoolLockGuard guard(lock_);
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next_) released += entry->release_unused_();
    return released;
  }
  // Calls visit(const PoolStats&) for each pool that has blocks: BasicPool::running_stats(). visit must use none of the
  // pools. Any thread may call it.
  template <class Visit>
  static void for_each(Visit&& visit) {
    const PoolLockGuard guard(lock_);
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next_) {
      if (const PoolStats stats = entry->stats_(); stats.blocks != 0) visit(stats);
    }
  }

  // The entry of a pool, as long as the library or program that has it is loaded.
  class Entry {
   public:
    Entry(std::size_t (*release_unused)(), PoolStats (*stats)()) noexcept
        : release_unused_(release_unused), stats_(stats) {
      const PoolLockGuard guard(lock_);
      next_ = first_;
      first_ = this;
    }
    ~Entry() {
      const PoolLockGuard guard(lock_);
      Entry** link = &first_;
      while (*link != this) link = &(*link)->next_;
      *link = next_;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend SharedPools;
    std::size_t (*release_unused_)();
    PoolStats (*stats_)();
    Entry* next_;
  };

 private:
  static inline constinit PoolLock lock_;
  static inline constinit Entry* first_ = nullptr;
};

}  // namespace snug
