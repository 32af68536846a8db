// pool_thread_cache.h: the policy ThreadCached. Each thread that uses a pool has a cache of its free slots: `current`,
// from which it takes and to which it gives without a lock, and `spare`, a full batch or nothing. Slots move between
// cache and store a batch at a time under the pool's lock: a thread that allocates and frees around a full or empty
// current swaps the two, and asks nobody.
//
//   thread's table: pool's number -> cache      direct-mapped; a number is never given twice, so that what is left of a
//                                               dead pool matches nothing
//   pool: list of caches -> owner (a table)     under the pool's lock. A cache without owner waits for a new thread
//   roster: list of pools with caches           under its own lock, which is taken before a pool's
//
// At the end of a thread its caches are emptied; what it frees later still, from other thread-local destructors, goes
// to the store directly. A pool may be destroyed when no thread uses it any more, living threads or not. After a fork
// the child has the caches of the threads that it lacks: their slots are lost to it until the pool is cleared.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "snug/pool_blocks.h"
#include "snug/pool_lock.h"

namespace snug {

struct PoolCache {
  PoolSlot* current;
  PoolSlot* spare;    // as many as a batch, or null
  std::size_t count;  // in current; 0 if that is null
  const void* owner;
  PoolCache* next;
};

// Of a thread. Trivial, so that it is there before and after any constructor or destructor.
struct PoolCacheTable {
  static constexpr std::size_t kEntries = 16;
  struct Entry {
    uint64_t pool;
    PoolCache* cache;
  };
  Entry entries[kEntries];
  bool closed;  // the thread is at its end
};
inline constinit thread_local PoolCacheTable pool_cache_table{};

// The pools that threads may have caches of.
class PoolRoster {
 public:
  struct Member {
    Member* next = nullptr;
    Member** link = nullptr;
    void (*abandon)(Member*, const void* owner) = nullptr;
    std::atomic<uint64_t> number{kNone};
  };
  static constexpr uint64_t kNone = ~uint64_t{0};

  static void enter(Member& member) noexcept {
    const PoolLockGuard guard(lock_);
    if (member.link != nullptr) return;
    member.next = first_;
    member.link = &first_;
    if (first_ != nullptr) first_->link = &member.next;
    first_ = &member;
    member.number.store(++last_number_, std::memory_order_relaxed);
  }
  static void leave(Member& member) noexcept {
    const PoolLockGuard guard(lock_);
    if (member.link == nullptr) return;
    *member.link = member.next;
    if (member.next != nullptr) member.next->link = member.link;
    member.link = nullptr;
  }
  static void abandon_all(const void* owner) noexcept {
    const PoolLockGuard guard(lock_);
    for (Member* member = first_; member != nullptr; member = member->next) member->abandon(member, owner);
  }

 private:
  static inline constinit PoolLock lock_{};
  static inline constinit Member* first_ = nullptr;
  static inline constinit uint64_t last_number_ = 0;
};

// Its destructor runs at the end of each thread that has called arm().
class PoolThreadEnd {
 public:
  ~PoolThreadEnd() {
    PoolCacheTable& table = pool_cache_table;
    table = {};
    table.closed = true;
    PoolRoster::abandon_all(&table);
  }
  void arm() noexcept { armed_ = true; }

 private:
  bool armed_ = false;
};
inline thread_local PoolThreadEnd pool_thread_end;

struct ThreadCached {
  // Whole batches move, of about so many bytes and at most so many slots.
  static constexpr std::size_t kBatchBytes = 4096;
  static constexpr std::size_t kBatchSlots = 64;

  template <class Store>
  class Front : PoolRoster::Member {
   public:
    template <class... Arguments>
    constexpr explicit Front(Arguments&&... arguments) : store_(std::forward<Arguments>(arguments)...) {
      abandon = [](Member* self, const void* owner) { static_cast<Front*>(self)->empty_caches(owner); };
      batch_ = std::clamp<std::size_t>(kBatchBytes / store_.element_bytes(), 2, kBatchSlots);
    }

    void* alloc() {
      PoolCache* const cache = find_cache();
      if (cache == nullptr || cache->current == nullptr) [[unlikely]]
        return alloc_slowly(cache);
      return take(*cache);
    }
    void* try_alloc() noexcept {
      PoolCache* const cache = find_cache();
      if (cache == nullptr || cache->current == nullptr) [[unlikely]]
        return try_alloc_slowly(cache);
      return take(*cache);
    }
    void free(void* element) noexcept {
      PoolCache* const cache = find_cache();
      if (cache == nullptr || cache->count == batch_) [[unlikely]]
        return free_slowly(cache, element);
      give(*cache, element);
    }
    std::size_t alloc_batch(void** out, std::size_t want) {
      std::size_t got = 0;
      while (got < want && (out[got] = try_alloc()) != nullptr) ++got;
      return got;
    }
    void free_batch(void* const* elements, std::size_t count) noexcept {
      for (std::size_t i = 0; i < count; ++i) free(elements[i]);
    }

    template <class Work>
    decltype(auto) together(Work&& work) {
      const PoolLockGuard guard(lock_);
      flush_caches(&pool_cache_table);
      return work(store_);
    }
    // No other thread may use the pool meanwhile. The lock is for threads that end just then, which find nothing in
    // their caches any more; work runs without it, since it may free through the pool.
    template <class Work>
    decltype(auto) alone(Work&& work) {
      flush_all();
      return work(store_);
    }
    void end() noexcept {
      PoolRoster::leave(*this);
      flush_all();
      while (caches_ != nullptr) {
        PoolCache* const cache = caches_;
        caches_ = cache->next;
        store_.source().free(cache, sizeof(PoolCache), kCacheAlignment);
      }
      store_.end();
    }

   private:
    // Two caches that share a line would have their threads wait for each other.
    static constexpr std::size_t kCacheAlignment = 64;

    PoolCache* find_cache() const noexcept {
      const uint64_t wanted = number.load(std::memory_order_relaxed);
      const PoolCacheTable::Entry& entry = pool_cache_table.entries[wanted % PoolCacheTable::kEntries];
      return entry.pool == wanted ? entry.cache : nullptr;
    }

    void* take(PoolCache& cache) noexcept {
      PoolSlot* const slot = cache.current;
      cache.current = slot->next;
      --cache.count;
      note_alloc(slot);
      return slot;
    }
    void give(PoolCache& cache, void* element) noexcept {
      note_free(element);
      cache.current = ::new (element) PoolSlot{cache.current};
      ++cache.count;
    }

    [[gnu::noinline]] void* alloc_slowly(PoolCache* cache) {
      void* const element = try_alloc_slowly(cache);
      if (element == nullptr) throw_out_of_memory();
      return element;
    }
    [[gnu::noinline]] void* try_alloc_slowly(PoolCache* cache) noexcept {
      if (cache == nullptr) cache = attach();
      if (cache == nullptr) {
        const PoolLockGuard guard(lock_);
        return store_.try_alloc();
      }
      if (cache->current == nullptr) {
        if (cache->spare != nullptr) {
          std::swap(cache->current, cache->spare);
          cache->count = batch_;
        } else {
          const PoolLockGuard guard(lock_);
          cache->current = store_.pop_chain(batch_, cache->count);
        }
      }
      return cache->current != nullptr ? take(*cache) : nullptr;
    }
    [[gnu::noinline]] void free_slowly(PoolCache* cache, void* element) noexcept {
      if (cache == nullptr) cache = attach();
      if (cache == nullptr) {
        const PoolLockGuard guard(lock_);
        return store_.free(element);
      }
      if (cache->count == batch_) {
        push_home(cache->spare);
        cache->spare = cache->current;
        cache->current = nullptr;
        cache->count = 0;
      }
      give(*cache, element);
    }

    // The calling thread's cache, entered into its table. Null: the thread is at its end, or there is no memory.
    PoolCache* attach() noexcept {
      PoolCacheTable& table = pool_cache_table;
      if (table.closed) return nullptr;
      pool_thread_end.arm();
      if (number.load(std::memory_order_relaxed) == PoolRoster::kNone) PoolRoster::enter(*this);
      PoolCache* cache = nullptr;
      {
        const PoolLockGuard guard(lock_);
        cache = cache_of(&table);
        if (cache == nullptr) cache = cache_of(nullptr);
        if (cache == nullptr) cache = new_cache();
        if (cache == nullptr) return nullptr;
        cache->owner = &table;
      }
      const uint64_t own = number.load(std::memory_order_relaxed);
      table.entries[own % PoolCacheTable::kEntries] = {own, cache};
      return cache;
    }
    PoolCache* cache_of(const void* owner) const noexcept {
      PoolCache* cache = caches_;
      while (cache != nullptr && cache->owner != owner) cache = cache->next;
      return cache;
    }
    PoolCache* new_cache() noexcept {
      void* const memory = store_.source().allocate(sizeof(PoolCache), kCacheAlignment);
      if (memory == nullptr) return nullptr;
      caches_ = ::new (memory) PoolCache{nullptr, nullptr, 0, nullptr, caches_};
      return caches_;
    }

    // Walks the chain before it takes the lock.
    void push_home(PoolSlot* chain) noexcept {
      if (chain == nullptr) return;
      PoolSlot* const last = last_of(chain);
      const PoolLockGuard guard(lock_);
      store_.push_chain(chain, last);
    }
    static PoolSlot* last_of(PoolSlot* slot) noexcept {
      while (slot->next != nullptr) slot = slot->next;
      return slot;
    }
    void flush_all() noexcept {
      const PoolLockGuard guard(lock_);
      for (PoolCache* cache = caches_; cache != nullptr; cache = cache->next) flush(*cache);
    }
    // Under the lock.
    void flush(PoolCache& cache) noexcept {
      for (PoolSlot* chain : {cache.current, cache.spare}) {
        if (chain != nullptr) store_.push_chain(chain, last_of(chain));
      }
      cache.current = cache.spare = nullptr;
      cache.count = 0;
    }
    void flush_caches(const void* owner) noexcept {
      PoolCache* const cache = cache_of(owner);
      if (cache != nullptr) flush(*cache);
    }
    void empty_caches(const void* owner) noexcept {
      const PoolLockGuard guard(lock_);
      PoolCache* const cache = cache_of(owner);
      if (cache == nullptr) return;
      flush(*cache);
      cache->owner = nullptr;
    }

    // The store's bits are everyone's.
    void note_alloc(void* element) noexcept {
      if constexpr (Store::kWatched) {
        const PoolLockGuard guard(lock_);
        store_.note_alloc(element);
      }
    }
    void note_free(void* element) noexcept {
      if constexpr (Store::kWatched) {
        const PoolLockGuard guard(lock_);
        store_.note_free(element);
      }
    }

    PoolLock lock_;
    std::size_t batch_ = 0;
    PoolCache* caches_ = nullptr;
    Store store_;
  };
};

}  // namespace snug
