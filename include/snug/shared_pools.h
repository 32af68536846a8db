// shared_pools.h: the pools that PoolAllocator draws from, one for each size and alignment of what containers ask for,
// and what can be asked of all of them: nobody names them in a program, and they live until its end.
//
// Only those that any thread may use, of Locked and ThreadCached allocators; who has a SingleThread one knows when it
// may be used, and asks PoolAllocator::pool().
#pragma once

#include <cstddef>

#include "snug/pool.h"
#include "snug/pool_lock.h"

namespace snug {

class SharedPools {
 public:
  // Gives blocks without live elements back to snug's heap; returns how many bytes. What running threads hold in their
  // caches counts as live: of each pool up to two batches. Any thread.
  static std::size_t release_unused() noexcept {
    std::size_t released = 0;
    const PoolLockGuard guard(lock_);
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next_) released += entry->release_unused_();
    return released;
  }
  // visit(const PoolStats&) for each pool that has blocks: BasicPool::running_stats(). It must use none of the pools.
  // Any thread.
  template <class Visit>
  static void for_each(Visit&& visit) {
    const PoolLockGuard guard(lock_);
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next_) {
      if (const PoolStats stats = entry->stats_(); stats.blocks != 0) visit(stats);
    }
  }

  // A pool's, as long as the file that has it is part of the process.
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
