#include "thread/thread_cache_list.h"

#include <string.h>

#include "base/atomic.h"
#include "base/in_place.h"
#include "os/thread.h"

namespace snug {

bool ThreadCacheList::make_key(void (*thread_ends)(void*)) {
  Key expected = Key::kNone;
  if (!key_state_.compare_exchange_strong(expected, Key::kBeingMade, kAcquire)) return true;
  const bool made = ::pthread_key_create(&key_, thread_ends) == 0;
  key_state_.store(made ? Key::kMade : Key::kNone, kRelease);
  return made;
}

ThreadCache* ThreadCacheList::start() {
  ThreadState& state = thread_state;
  if (state.cache != nullptr || state.ended) return state.cache;
  if (!has_key()) return nullptr;
  state.cache = make_cache();
  if (state.cache == nullptr) return nullptr;
  number_own();
  // Last, because it may allocate.
  if (::pthread_setspecific(key_, state.cache) != 0) end(state.cache);  // a cache that nothing will end must not be
  return state.cache;
}

bool ThreadCacheList::hear_of_end() {
  if (!has_key()) return false;
  ThreadState& state = thread_state;
  // libc may allocate here, and this may be behind the thread's last destructor: no cache may begin.
  state.ended = true;
  const bool is_heard_of = ::pthread_setspecific(key_, &state) == 0;
  state.ended = false;
  return is_heard_of;
}

bool ThreadCacheList::end_own() {
  ThreadCache* const cache = thread_state.cache;
  if (cache != nullptr)
    end(cache);
  else
    thread_state.ended = true;
  return cache != nullptr;
}

void ThreadCacheList::number_own() {
  if (numbers_threads_ && thread_state.cache != nullptr) thread_state.cache->set_thread_number(os::thread_number());
}

ThreadCache* ThreadCacheList::make_cache() {
  const GateGuard guard(lock_, in_flight_);
  Unmade<ThreadCache>* const place = records_.make();
  if (place == nullptr) return nullptr;
  ThreadCache* cache = nullptr;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    if (SlabHeap* const heap = registry_.acquire(); heap != nullptr) {
      cache = ::new (InPlace{place->bytes})
          ThreadCache(*heap, registry_, arrays_.at(heap->home()), thread_state, limits_, cache_count_);
      SlabHeap::Hold hold(*heap);
      heap->caches().push_front(cache);
    }
  }
  if (cache == nullptr) {
    records_.recycle(place);
    return nullptr;
  }
  caches_.push_front(cache);
  count_caches(1);
  return cache;
}

void ThreadCacheList::end(ThreadCache* cache) {
  ThreadState& state = thread_state;
  const GateGuard guard(lock_, in_flight_);
  state.ended = true;
  state.cache = nullptr;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    leave(cache);
  }
  caches_.remove(cache);
  recycle(cache);
  count_caches(-1);
  store_shared(state.allocations, uint64_t{0});
}

// The cached blocks go home, and the heap has a thread less.
void ThreadCacheList::leave(ThreadCache* cache) {
  cache->retire();
  registry_.abandon(cache->heap());
}

// Adds the counts of a cache that is in no list to those of ended caches.
void ThreadCacheList::recycle(ThreadCache* cache) {
  ended_.allocations += cache->allocations();
  ended_.refills += cache->refills();
  ended_.flushes += cache->flushes();
  cache->~ThreadCache();
  records_.recycle(::new (InPlace{static_cast<void*>(cache)}) Unmade<ThreadCache>);
}

void ThreadCacheList::count_anew() {
  ended_ = {};
  Key expected = Key::kBeingMade;  // by a thread that is not here
  key_state_.compare_exchange_strong(expected, Key::kNone, kRelaxed);
  forget_counts(thread_state);
}

// A cache of a thread of the parent's begins to count anew.
void ThreadCacheList::forget_counts(ThreadState& state) {
  store_shared(state.allocations, uint64_t{0});
  if (state.cache != nullptr) state.cache->forget_counts();
}

void ThreadCacheList::orphan_others() {
  for (ThreadCache* cache = caches_.front(); cache != nullptr;) {
    ThreadCache* next = CacheList::next(cache);
    if (cache != thread_state.cache) {
      // The thread's stack, which holds its TLS, will be given to the next thread of this process.
      Unmade<ThreadState> brief;
      Unmade<ThreadState>* const lasting = states_.make();
      void* const copy = lasting != nullptr ? lasting->bytes : brief.bytes;
      memcpy(copy, &cache->state(), sizeof(ThreadState));
      cache->continue_with(static_cast<ThreadState*>(copy));
      forget_counts(*static_cast<ThreadState*>(copy));
      caches_.remove(cache);
      count_caches(-1);
      if (lasting != nullptr) {
        orphans_.push_front(cache);
        has_orphans_.store(true, kRelaxed);
      } else {
        leave(cache);  // reaped at once, for want of memory
        recycle(cache);
      }
    }
    cache = next;
  }
}

void ThreadCacheList::reap_orphan() {
  const GateGuard guard(lock_, in_flight_);
  ThreadCache* const cache = orphans_.pop_front();
  if (orphans_.empty()) has_orphans_.store(false, kRelaxed);
  if (cache == nullptr) return;
  ThreadState* const copy = &cache->state();
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    leave(cache);
  }
  recycle(cache);
  states_.recycle(reinterpret_cast<Unmade<ThreadState>*>(copy));
}

const char* ThreadCacheList::check() {
  LockGuard guard(lock_);
  size_t running = 0;
  size_t orphans = 0;
  bool is_served = true;
  for (ThreadCache* cache = caches_.front(); cache != nullptr; cache = CacheList::next(cache), ++running)
    is_served = is_served && cache->heap().thread_count() != 0;
  for (ThreadCache* cache = orphans_.front(); cache != nullptr; cache = CacheList::next(cache), ++orphans)
    is_served = is_served && cache->heap().thread_count() != 0;
  if (running != cache_count()) return "thread cache list: the count of caches is wrong";
  if (orphans != 0 && !has_orphans()) return "thread cache list: an orphan is not told of";
  if (!in_flight_.is_empty()) return nullptr;
  if (!is_served) return "thread cache list: the heap of a cache has no thread";
  size_t threads = 0;
  registry_.for_each([&](const SlabHeap& heap) { threads += heap.thread_count(); });
  return threads == running + orphans ? nullptr
                                      : "thread cache list: heaps have not as many threads as there are caches";
}

CacheStatistics ThreadCacheList::statistics() {
  LockGuard guard(lock_);
  CacheStatistics sum = ended_;
  for (ThreadCache* cache = caches_.front(); cache != nullptr; cache = CacheList::next(cache)) {
    sum.allocations += cache->allocations();
    sum.refills += cache->refills();
    sum.flushes += cache->flushes();
    ++sum.threads;
  }
  return sum;
}

}  // namespace snug
