// pool_thread_cache.h: the policy ThreadCached. Each thread that uses a pool has a cache of its free slots: `current`,
// from which it takes and to which it gives without a lock, and `spare`, a batch or nothing. Slots move between cache
// and store a batch at a time under the pool's lock: a thread that allocates and frees around a full or empty current
// swaps the two, without the lock. Its batches begin with one slot and double each time that it takes the lock, so that
// many threads which use few elements hold few.
//
// How a thread finds its cache: pool/cache_table.h. The slots in the caches of an ended thread, which are abandoned, go
// home before the pool asks its source, and in each operation on the whole pool; or a new thread takes over such a
// cache. Elements that a thread frees at its very end, from other thread-local destructors, go to the store directly. A
// pool may be destroyed when no thread uses it any more, even if threads that have used it still run. After a fork the
// child has caches of threads that exist only in the parent: their slots are lost to it until the pool drops all.
//
// A checked pool has no caches, since each of its operations takes the lock anyhow to read the bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "snug/heap_scope.h"
#include "snug/pool/blocks.h"
#include "snug/pool/cache_table.h"
#include "snug/pool/lock.h"
#include "snug/pool/threads.h"

namespace snug {

struct ThreadCached {
  static constexpr bool kMoves = false;
  // Whole batches move, of about so many bytes and at most so many slots.
  static constexpr std::size_t kBatchBytes = 4096;
  static constexpr std::size_t kBatchSlots = 64;

  // The front of a checked pool.
  template <class Store>
  class LockedFront : public Locked::Front<Store> {
   public:
    using Locked::Front<Store>::Front;

    // No other thread may use the pool meanwhile, so that work may free through it.
    template <class Work>
    decltype(auto) alone(Work&& work) {
      return work(this->store_);
    }
  };

  template <class Store>
  class CachedFront {
   public:
    template <class... Arguments>
    constexpr explicit CachedFront(Arguments&&... arguments) : store_(std::forward<Arguments>(arguments)...) {
      batch_ = std::clamp<std::size_t>(kBatchBytes / store_.element_bytes(), 2, kBatchSlots);
    }

    void* allocate() {
      PoolCache* const cache = find_cache();
      if (cache == nullptr || cache->current == nullptr) [[unlikely]]
        return allocate_slowly(cache);
      return take(*cache);
    }
    void* try_allocate() noexcept {
      PoolCache* const cache = find_cache();
      if (cache == nullptr || cache->current == nullptr) [[unlikely]]
        return try_allocate_slowly(cache);
      return take(*cache);
    }
    void deallocate(void* element) noexcept {
      PoolCache* const cache = find_cache();
      if (cache == nullptr || cache->count == cache->batch) [[unlikely]]
        return deallocate_slowly(cache, element);
      give(*cache, element);
    }
    std::size_t allocate_batch(void** out, std::size_t want) {
      std::size_t got = 0;
      while (got < want && (out[got] = try_allocate()) != nullptr) ++got;
      return got;
    }
    void deallocate_batch(void* const* elements, std::size_t count) noexcept {
      for (std::size_t i = 0; i < count; ++i) {
        if (elements[i] != nullptr) deallocate(elements[i]);
      }
    }

    void expect_live(const char*, const void*) const noexcept {}

    template <class Work>
    decltype(auto) together(Work&& work) {
      const PoolLockGuard guard(lock_);
      take_abandoned_home();
      const std::uintptr_t number = number_.load(std::memory_order_relaxed);
      if (PoolCache* const own = pool_cache_table.find_among_all(number, seat_.load(std::memory_order_relaxed)))
        flush(*own);
      return work(store_);
    }
    // No other thread may use the pool meanwhile; the lock is taken in case one does. Work runs without the lock, since
    // it may free through the pool.
    template <class Work>
    decltype(auto) alone(Work&& work) {
      {
        const PoolLockGuard guard(lock_);
        for (PoolCache* cache = caches_; cache != nullptr; cache = cache->next) flush(*cache);
      }
      return work(store_);
    }
    constexpr bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
      return store_.fits(bytes, alignment);
    }
    // Checks the caches' links before alone() follows them.
    const char* check() noexcept {
      for (const PoolCache* cache = caches_; cache != nullptr; cache = cache->next) {
        for (const PoolSlot* const chain : {cache->current, cache->spare}) {
          std::size_t count = 0;
          if (const char* const broken = store_.check_chain(chain, batch_, count)) return broken;
          if (count != (chain == cache->current ? cache->count : chain != nullptr ? cache->spare_count : 0))
            return "a thread's cache has not as many slots as it says";
        }
      }
      return alone([](Store& store) { return store.check(); });
    }
    void end() noexcept {
      if (caches_ != nullptr) PoolSeats::give_back(seat_.load(std::memory_order_relaxed));
      number_.store(0, std::memory_order_relaxed);
      while (caches_ != nullptr) {
        PoolCache* const cache = caches_;
        caches_ = cache->next;
        cache->number.store(PoolCache::kNoPool, std::memory_order_relaxed);
        PoolCache::let_go(cache, PoolCache::kPool);
      }
      store_.end();
    }

   private:
    // The calling thread's cache, or null if it is not among those used last.
    PoolCache* find_cache() const noexcept { return pool_cache_table.find(number_.load(std::memory_order_relaxed)); }

    void* take(PoolCache& cache) const noexcept {
      --cache.count;
      return store_.hand_out(cache.current);
    }
    void give(PoolCache& cache, void* element) const noexcept {
      cache.current = store_.take_back(element, cache.current);
      ++cache.count;
    }

    [[gnu::noinline]] void* allocate_slowly(PoolCache* cache) {
      void* const element = try_allocate_slowly(cache);
      if (element == nullptr) throw_out_of_memory();
      return element;
    }
    [[gnu::noinline]] void* try_allocate_slowly(PoolCache* cache) noexcept {
      if (cache == nullptr) cache = find_or_attach();
      if (cache == nullptr) {
        const PoolLockGuard guard(lock_);
        if (store_.is_exhausted()) take_abandoned_home();
        return store_.try_allocate();
      }
      if (cache->current == nullptr) {
        if (cache->spare != nullptr) {
          std::swap(cache->current, cache->spare);
          cache->count = cache->spare_count;
        } else {
          const PoolLockGuard guard(lock_);
          if (store_.is_exhausted()) take_abandoned_home();
          cache->current = store_.pop_chain(cache->batch, cache->count);
          lengthen(*cache);
        }
      }
      return cache->current != nullptr ? take(*cache) : nullptr;
    }
    [[gnu::noinline]] void deallocate_slowly(PoolCache* cache, void* element) noexcept {
      if (cache == nullptr) cache = find_or_attach();
      if (cache == nullptr) {
        const PoolLockGuard guard(lock_);
        return store_.deallocate(element);
      }
      if (cache->count == cache->batch && !lengthen(*cache)) {
        push_home(cache->spare);
        cache->spare = cache->current;
        cache->spare_count = cache->count;
        cache->current = nullptr;
        cache->count = 0;
      }
      give(*cache, element);
    }

    // Called when a thread needs more slots, or has more than it may keep: doubles the length of its batches. Other
    // threads hold few slots. False if they are as long as they may be.
    bool lengthen(PoolCache& cache) const noexcept {
      if (cache.batch == batch_) return false;
      cache.batch = std::min(2 * cache.batch, batch_);
      return true;
    }

    // The calling thread's cache, made or adopted if need be. Null: the thread is at its end, or there is no memory, or
    // no seat for one more pool.
    PoolCache* find_or_attach() noexcept {
      PoolCacheTable& table = pool_cache_table;
      if (PoolCache* const cache =
              table.find_among_all(number_.load(std::memory_order_relaxed), seat_.load(std::memory_order_relaxed)))
        return cache;
      if (table.is_closed()) return nullptr;
      // The C library notes in memory of malloc's that the thread's end is waited for.
      const HeapScope outside(nullptr);
      pool_thread_end.arm();
      const PoolLockGuard guard(lock_);
      PoolCache* cache = caches_;
      while (cache != nullptr && !cache->is_abandoned()) cache = cache->next;
      if (cache == nullptr) cache = new_cache();
      if (cache == nullptr || !table.put(seat_.load(std::memory_order_relaxed), cache)) return nullptr;
      cache->holders.store(PoolCache::kThread | PoolCache::kPool, std::memory_order_relaxed);
      return cache;
    }
    // Makes a cache that no thread holds yet.
    PoolCache* new_cache() noexcept {
      PoolCache* const cache = PoolCache::make();
      if (cache == nullptr) return nullptr;
      if (caches_ == nullptr) {
        const std::size_t seat = PoolSeats::take();
        if (seat == PoolSeats::kNone) {
          PoolCache::let_go(cache, PoolCache::kPool);
          return nullptr;
        }
        seat_.store(seat, std::memory_order_relaxed);
        number_.store(reinterpret_cast<std::uintptr_t>(cache) + seat % PoolCacheTable::kLatest,
                      std::memory_order_relaxed);
      }
      cache->number.store(number_.load(std::memory_order_relaxed), std::memory_order_relaxed);
      cache->next = caches_;
      caches_ = cache;
      return cache;
    }

    // Walks the chain before it takes the lock.
    void push_home(PoolSlot* chain) noexcept {
      if (chain == nullptr) return;
      PoolSlot* const last = Store::Slots::last_of(chain);
      const PoolLockGuard guard(lock_);
      store_.push_chain(chain, last);
    }
    // The caller holds the lock.
    void flush(PoolCache& cache) noexcept {
      for (PoolSlot* chain : {cache.current, cache.spare}) {
        if (chain != nullptr) store_.push_chain(chain, Store::Slots::last_of(chain));
      }
      cache.current = cache.spare = nullptr;
      cache.count = 0;
    }
    // The caller holds the lock.
    void take_abandoned_home() noexcept {
      for (PoolCache* cache = caches_; cache != nullptr; cache = cache->next) {
        if (cache->is_abandoned()) flush(*cache);
      }
    }

    // Every operation reads these; none writes them once they are set.
    std::atomic<std::uintptr_t> number_{0};  // 0: no thread has had a cache yet
    std::atomic<std::size_t> seat_{0};
    PoolLock lock_;
    std::size_t batch_;
    PoolCache* caches_ = nullptr;
    Store store_;
  };

  template <class Store>
  using Front = std::conditional_t<Store::kWatched, LockedFront<Store>, CachedFront<Store>>;
};

}  // namespace snug
