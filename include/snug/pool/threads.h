// pool/threads.h: which threads may use a pool at the same time: the policies SingleThread and Locked (ThreadCached has
// a header of its own). A policy puts a front before the pool's store:
//
//   allocate, try_allocate, deallocate, allocate_batch, deallocate_batch    what callers do
//   expect_live(call, element)    ends the process unless a checked pool's element is live
//   together(work)   work(store) while other threads may use the pool
//   alone(work)      work(store) with every free slot home in the store; the caller knows that no other thread uses the
//                    pool meanwhile, if the policy says that this is needed
//   fits(bytes, alignment)    true if an object of that kind has room in an element
//   check()          as the store's; needs the same as alone()
//   end()            ends the pool's life, and the store's
//
// kMoves says whether a front, and with it the pool, can be moved.
#pragma once

#include <cstddef>
#include <utility>

#include "snug/pool/lock.h"

namespace snug {

// One thread at a time; handing the pool to another thread is the caller's business.
struct SingleThread {
  static constexpr bool kMoves = true;

  template <class Store>
  class Front {
   public:
    constexpr Front(std::size_t size, std::size_t alignment, const auto&... rest) : store_(size, alignment, rest...) {}
    Front(Front&&) noexcept = default;
    Front& operator=(Front&&) noexcept = default;

    void* allocate() { return store_.allocate(); }
    void* try_allocate() noexcept { return store_.try_allocate(); }
    void deallocate(void* element) noexcept { store_.deallocate(element); }
    std::size_t allocate_batch(void** out, std::size_t want) { return store_.allocate_batch(out, want); }
    void deallocate_batch(void* const* elements, std::size_t count) noexcept {
      store_.deallocate_batch(elements, count);
    }
    void expect_live(const char* call, const void* element) const noexcept { store_.expect_live(call, element); }

    template <class Work>
    decltype(auto) together(Work&& work) {
      return work(store_);
    }
    template <class Work>
    decltype(auto) alone(Work&& work) {
      return work(store_);
    }
    constexpr bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
      return store_.fits(bytes, alignment);
    }
    const char* check() noexcept { return store_.check(); }
    void end() noexcept { store_.end(); }

   private:
    Store store_;
  };
};

// Any thread at any time: each operation holds the pool's lock, also while the store asks its source for memory. Work
// inside together() and alone() must not use the pool.
struct Locked {
  static constexpr bool kMoves = false;

  template <class Store>
  class Front {
   public:
    template <class... Arguments>
    constexpr explicit Front(Arguments&&... arguments) : store_(std::forward<Arguments>(arguments)...) {}

    void* allocate() {
      const PoolLockGuard guard(lock_);
      return store_.allocate();
    }
    void* try_allocate() noexcept {
      const PoolLockGuard guard(lock_);
      return store_.try_allocate();
    }
    void deallocate(void* element) noexcept {
      const PoolLockGuard guard(lock_);
      store_.deallocate(element);
    }
    std::size_t allocate_batch(void** out, std::size_t want) {
      const PoolLockGuard guard(lock_);
      return store_.allocate_batch(out, want);
    }
    void deallocate_batch(void* const* elements, std::size_t count) noexcept {
      const PoolLockGuard guard(lock_);
      store_.deallocate_batch(elements, count);
    }
    void expect_live(const char* call, const void* element) noexcept {
      if constexpr (Store::kWatched) {
        const PoolLockGuard guard(lock_);
        store_.expect_live(call, element);
      }
    }

    template <class Work>
    decltype(auto) together(Work&& work) {
      const PoolLockGuard guard(lock_);
      return work(store_);
    }
    template <class Work>
    decltype(auto) alone(Work&& work) {
      const PoolLockGuard guard(lock_);
      return work(store_);
    }
    constexpr bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
      return store_.fits(bytes, alignment);
    }
    const char* check() noexcept {
      const PoolLockGuard guard(lock_);
      return store_.check();
    }
    void end() noexcept { store_.end(); }

   protected:
    PoolLock lock_;
    Store store_;
  };
};

}  // namespace snug
