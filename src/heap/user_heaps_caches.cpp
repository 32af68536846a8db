// UserHeaps' caches: how a thread gets them, what malloc and free do with them, and how they end.
#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "heap/user_heaps.h"

namespace snug {
namespace {

constinit UserCache cache_of_no_heap;

}  // namespace

SNUG_INITIAL_EXEC constinit thread_local UserCaches* own_caches = nullptr;
SNUG_INITIAL_EXEC constinit thread_local UserCache* last_user_cache = &cache_of_no_heap;

size_t UserHeaps::room_of(const SizeClass& sizes) { return clamp<size_t>(kMostBytes / sizes.block_size, 1, kMostRoom); }

size_t UserHeaps::places_of(const SizeClass& sizes) { return max(bit_ceil(room_of(sizes)), ArrayStore::kLeastPlaces); }

UserCache* UserHeaps::find(const UserHeap& heap) {
  if (last_user_cache->heap() == &heap) return last_user_cache;
  if (own_caches == nullptr) return nullptr;
  for (UserCache* cache : own_caches->caches)
    if (cache != nullptr && cache->heap() == &heap) return last_user_cache = cache;
  return nullptr;
}

// The calling thread's cache of the heap; null if it has none, and shall get none now.
UserCache* UserHeaps::cache_for(UserHeap& heap, bool may_cache) {
  UserCache* const cache = find(heap);
  if (cache != nullptr || !may_cache || heap.operations() < kOperationsBeforeCaches) return cache;
  return admit(heap);
}

// What the calling thread keeps of heaps; null if the OS refuses memory.
UserCaches* UserHeaps::ensure_own() {
  if (own_caches != nullptr) return own_caches;
  LockGuard guard(records_lock_);
  own_caches = own_records_.make();
  if (own_caches == nullptr) return nullptr;
  all_own_.push_front(own_caches);
  stocks_.store(stocks_.load(kRelaxed) + 1, kRelaxed);
  return own_caches;
}

UserCache* UserHeaps::admit(UserHeap& heap) {
  UserCaches* const caches = ensure_own();
  if (caches == nullptr || exchange(caches->missed, &heap) != &heap) return nullptr;
  UserCache* const cache = fresh_cache(*caches);
  if (cache == nullptr) return nullptr;
  const Operation operation(*this, heap);
  cache->set_heap(&heap);
  cache->distance = reinterpret_cast<char*>(cache->heads) - reinterpret_cast<char*>(thread_state.heads);
  cache->forks = forks_.load(kRelaxed);
  heap.caches().push_front(cache);
  return last_user_cache = cache;
}

// A cache of no heap, in its place among the thread's own.
UserCache* UserHeaps::fresh_cache(UserCaches& own) {
  for (UserCache*& place : own.caches) {
    if (place == nullptr) {
      LockGuard guard(records_lock_);
      return place = cache_records_.make();
    }
    if (place->heap() == nullptr) {
      forget_blocks(*place);
      return place;
    }
  }
  UserCache* const victim = own.caches[own.next++ % UserCaches::kHeaps];
  detach(*victim);
  forget_blocks(*victim);
  return victim;
}

// Brings the cache's blocks home and takes it from its heap, unless another thread destroys the heap meanwhile.
void UserHeaps::detach(UserCache& cache) {
  if_bound(cache, [&](UserHeap& heap) {
    heap.lock().assume_held();
    empty(cache, heap);
    heap.caches().remove(&cache);
    cache.set_no_heap();
  });
}

template <class Act>
void UserHeaps::if_bound(UserCache& cache, Act act) {
  const auto under = [this](UserHeap& heap, auto then) {
    const Operation operation(*this, heap);
    then();
  };
  snug::if_bound(cache, under, act);
}

void UserHeaps::empty(UserCache& cache, UserHeap& heap) {
  for (size_t c = 1; c < kMaxClasses; ++c) {
    CacheHead& head = cache.heads[c];
    if (head.top_number == 0 || head.held() == 0) continue;
    void** const base = head.base();
    heap.put(c, base, head.held());
    head.move_top(base);
  }
}

// The arrays' blocks have gone home, or are those of a heap that is no more.
void UserHeaps::return_arrays(UserCache& cache) {
  ArrayStore::Returns returns(arrays_);
  for (size_t c = 1; c < kMaxClasses; ++c) {
    CacheHead& head = cache.heads[c];
    if (head.top_number == 0) continue;
    returns.add(head.base(), places_of(sizes(c)));
    head.point_nowhere();
  }
}

// The arrays' blocks are those of a heap that is no more; the arrays serve the next one.
void UserHeaps::forget_blocks(UserCache& cache) {
  for (CacheHead& head : cache.heads)
    if (head.top_number != 0) head.move_top(head.base());
}

// Brings home what the cache holds and gives back what is empty. Returns the bytes by which the heap holds less.
size_t UserHeaps::make_room(UserHeap& heap, UserCache* own) {
  const size_t before = heap.held();
  if (own != nullptr) empty(*own, heap);
  heap.release_empty();
  return before - heap.held();
}

void* UserHeaps::take(UserHeap& heap, size_t size_class, bool may_cache, bool* at_limit) {
  UserCache* const cache = cache_for(heap, may_cache);
  void* block = nullptr;
  if (cache != nullptr) {
    CacheHead& head = cache->heads[size_class];
    if (head.held() == 0) return refill(*cache, heap, size_class, at_limit);
    return head.take();
  }
  const Operation operation(*this, heap);
  heap.count_operation();
  if (heap.take(size_class, &block + 1, 1) != 0) return block;
  if (make_room(heap, nullptr) != 0 && heap.take(size_class, &block + 1, 1) != 0) return block;
  *at_limit = heap.was_at_limit();
  return nullptr;
}

// Under the heap's lock, or a fork might find a head that is half changed.
void UserHeaps::give_array(CacheHead& head, const SizeClass& sizes) {
  if (head.top_number != 0) return;
  void** const array = arrays_.take(places_of(sizes));
  if (array != nullptr) head.point_at(array, 0, room_of(sizes));
}

void* UserHeaps::refill(UserCache& cache, UserHeap& heap, size_t size_class, bool* at_limit) {
  CacheHead& head = cache.heads[size_class];
  const SizeClass& its = sizes(size_class);
  void* blocks[kMostRoom];
  void** const end = end_of(blocks);
  const Operation operation(*this, heap);
  give_array(head, its);
  const size_t want = head.top_number == 0 ? 1 : room_of(its) / 2 + 1;
  size_t got = heap.take(size_class, end, want);
  if (got == 0 && make_room(heap, &cache) != 0) got = heap.take(size_class, end, 1);
  if (got == 0) {
    *at_limit = heap.was_at_limit();
    return nullptr;
  }
  void** const base = head.base();
  if (got > 1) memcpy(base, end - got, (got - 1) * sizeof(void*));
  if (got > 1) head.move_top(base + got - 1);
  return end[-1];
}

size_t UserHeaps::take_batch(UserHeap& heap, size_t size_class, void** blocks, size_t count) {
  void** const end = blocks + count;
  size_t done = 0;
  const Operation operation(*this, heap);
  heap.count_operation();
  while (done != count) {
    const size_t got = heap.take(size_class, end - done, count - done);
    if (got == 0 && make_room(heap, nullptr) == 0) break;
    done += got;
  }
  if (done != count) memmove(blocks, end - done, done * sizeof(void*));
  return done;
}

void UserHeaps::give(HeapSlab& slab, void* block, bool may_cache) {
  UserHeap& heap = *slab.heap;
  const size_t size_class = slab.slab.size_class;
  UserCache* const cache = cache_for(heap, may_cache);
  if (cache == nullptr) {
    const Operation operation(*this, heap);
    heap.count_operation();
    return heap.put(size_class, &block, 1);
  }
  CacheHead& head = cache->heads[size_class];
  if (head.held() != 0 && head.top()[-1] == block) [[unlikely]]
    die_of_misuse("free", block, kAlreadyFree);
  if (head.top() == head.limit()) return overflow(*cache, heap, size_class, block);
  head.put(block);
}

// The array is full, or not there: its older half goes home, or the block does.
void UserHeaps::overflow(UserCache& cache, UserHeap& heap, size_t size_class, void* block) {
  CacheHead& head = cache.heads[size_class];
  const Operation operation(*this, heap);
  give_array(head, sizes(size_class));
  if (head.top() == head.limit()) {
    if (head.top_number == 0) return heap.put(size_class, &block, 1);
    const size_t older = (head.held() + 1) / 2;
    heap.put(size_class, head.base(), older);
    head.drop_oldest(older);
  }
  head.put(block);
}

void UserHeaps::end_caches() {
  UserCaches* const own = own_caches;
  if (own == nullptr) return;
  own_caches = nullptr;
  last_user_cache = &cache_of_no_heap;
  for (UserCache* cache : own->caches) {
    if (cache == nullptr) continue;
    detach(*cache);
    return_arrays(*cache);
    LockGuard guard(records_lock_);
    cache_records_.recycle(cache);
  }
  const GateGuard guard(records_lock_, in_flight_);
  SpanBatch pages;
  own->pages.empty(pages, false);
  all_own_.remove(own);
  stocks_.store(stocks_.load(kRelaxed) - 1, kRelaxed);
  own_records_.recycle(own);
  give_pages(pages);
}

// No fork finds them on the way.
void UserHeaps::give_pages(SpanBatch& pages) {
  if (pages.empty()) return;
  const UnlockedScope unlocked(records_lock_, in_flight_);
  spans_.free_all(pages);
}

void UserHeaps::give_stocks(bool if_still) {
  if (!are_used()) return;
  const GateGuard guard(records_lock_, in_flight_);
  SpanBatch pages;
  for (UserCaches* own = all_own_.front(); own != nullptr; own = OwnList::next(own))
    if (own->pages.count() != 0) own->pages.empty(pages, if_still);
  give_pages(pages);
}

size_t UserHeaps::bytes_in_stocks() {
  if (!are_used()) return 0;
  size_t pages = 0;
  LockGuard guard(records_lock_);
  for (const UserCaches* own = all_own_.front(); own != nullptr; own = OwnList::next(own)) pages += own->pages.count();
  return pages * kPageSize;
}

// Brings home what the caches of all threads hold, where no other thread uses the heap.
void UserHeaps::empty_all(UserHeap& heap) {
  for (UserCache* cache = heap.caches().front(); cache != nullptr; cache = UserHeap::CacheList::next(cache))
    empty(*cache, heap);
}

void UserHeaps::flush_own() {
  if (own_caches == nullptr) return;
  for (UserCache* cache : own_caches->caches) {
    if (cache == nullptr) continue;
    if_bound(*cache, [&](UserHeap& heap) {
      heap.lock().assume_held();
      empty(*cache, heap);
    });
  }
  const GateGuard guard(records_lock_, in_flight_);
  SpanBatch pages;
  own_caches->pages.empty(pages, false);
  give_pages(pages);
}

void UserHeaps::note_child() {
  if (!are_used()) return;
  forks_.store(forks_.load(kRelaxed) + 1, kRelaxed);
  forker_ = ::pthread_self();
  lists_.note_child([](const UserHeap& heap) { return heap.is_ending(); },
                    [](UserHeap& heap) SNUG_UNPROVED {
                      if (!heap.is_ended()) heap.end();
                    });
  if (own_caches == nullptr) return;
  for (UserCache* cache : own_caches->caches)
    if (cache != nullptr) cache->forks = forks_.load(kRelaxed);
}

// A thread of the parent's may have been in the middle of a malloc or a free: its top is where it was before or after.
void UserHeaps::take_orphans(UserHeap& heap) {
  const uint32_t forks = forks_.load(kRelaxed);
  if (!heap.recount(forks, forker_)) return;
  for (UserCache* cache = heap.caches().front(); cache != nullptr;) {
    UserCache* const next = UserHeap::CacheList::next(cache);
    if (cache->forks != forks) {
      empty(*cache, heap);
      heap.caches().remove(cache);
      return_arrays(*cache);
      LockGuard guard(records_lock_);
      cache_records_.recycle(cache);
    }
    cache = next;
  }
}

}  // namespace snug
