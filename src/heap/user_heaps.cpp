#include "heap/user_heaps.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/in_place.h"

namespace snug {

SNUG_INITIAL_EXEC constinit thread_local UserHeap* scope_heap = nullptr;

UserHeap* UserHeaps::make(const char* name, const HeapLimits& limits) {
  const auto begin = [&](UserHeap& heap) {
    heap.lock().assume_held();
    heap.begin(name, limits, forks_.load(kRelaxed));
  };
  UserHeap* const wanted = own_caches != nullptr ? own_caches->ended : nullptr;
  UserHeap* heap = lists_.begin(wanted, begin);
  while (heap == nullptr) {
    void* const memory = arena_.allocate(UserHeap::record_bytes(*table_));
    if (memory == nullptr) return nullptr;
    lists_.add(::new (InPlace{memory})
                   UserHeap({spans_, slab_records_, regions_, lists_.fork_gate(), stocks_, table_}));
    heap = lists_.begin(nullptr, begin);
  }
  are_used_.store(true, kRelaxed);
  return heap;
}

bool UserHeaps::hold(UserHeap& heap, size_t bytes) {
  UserCache* const own = find(heap);
  const Operation operation(*this, heap);
  return heap.hold(bytes) || (make_room(heap, own) != 0 && heap.hold(bytes));
}

void UserHeaps::let_go(UserHeap& heap, size_t bytes) {
  const Operation operation(*this, heap);
  heap.let_go(bytes);
}

void UserHeaps::enlist(HeapLarge* large) {
  const Operation operation(*this, *large->heap);
  larges_.insert(large);
  large->heap->add(large);
}

bool UserHeaps::place(HeapLarge* large, size_t bytes, size_t alignment) {
  UserHeap& heap = *large->heap;
  UserCache* const own = find(heap);
  const Operation operation(*this, heap);
  if (!heap.place(large, bytes, alignment) && (make_room(heap, own) == 0 || !heap.place(large, bytes, alignment)))
    return false;
  larges_.insert(large);
  return true;
}

bool UserHeaps::resize(HeapLarge* large, size_t bytes) {
  const Operation operation(*this, *large->heap);
  return large->heap->resize(large, bytes);
}

HeapLarge* UserHeaps::strike_off(const void* block) {
  HeapLarge* const large = larges_.find(block);
  if (large == nullptr) return nullptr;
  UserHeap& heap = *large->heap;
  const Operation operation(*this, heap);
  if (larges_.take(block) != large) return nullptr;  // another thread frees it too
  heap.remove(large);
  return large;
}

// Without its large blocks, which the stores count.
void UserHeaps::add_figures(UserHeap& heap, HeapFigures& figures) {
  uint64_t cached = 0;
  uint64_t cached_blocks = 0;
  for (const UserCache* cache = heap.caches().front(); cache != nullptr; cache = UserHeap::CacheList::next(cache))
    for (size_t c = 1; c < table_->count; ++c) {
      const size_t held = min(cache->heads[c].held(), kMostRoom);
      cached_blocks += held;
      cached += held * sizes(c).block_size;
    }
  figures.cached += cached;
  figures.blocks += heap.blocks_out() - min(cached_blocks, heap.blocks_out());
  figures.in_use += heap.bytes_out() - min(cached, heap.bytes_out());
  figures.in_slabs += heap.slab_bytes();
  figures.held += heap.held();
  figures.peak_held += heap.peak_held();
}

HeapFigures UserHeaps::figures(UserHeap& heap) {
  const Operation operation(*this, heap);
  HeapFigures figures;
  add_figures(heap, figures);
  figures.blocks += heap.large_blocks();
  figures.in_use += heap.large_bytes();
  figures.limit = heap.limits().most == SIZE_MAX ? 0 : heap.limits().most;
  figures.soft_limit = heap.limits().soft == SIZE_MAX ? 0 : heap.limits().soft;
  return figures;
}

HeapFigures UserHeaps::figures_of_all() {
  HeapFigures figures;
  if (!are_used()) return figures;
  lists_.for_each([&](UserHeap& heap) {
    const Operation operation(*this, heap);
    if (!heap.is_ended() && !heap.is_in_region()) add_figures(heap, figures);
  });
  return figures;
}

bool UserHeaps::is_cached(UserHeap& heap, size_t size_class, uintptr_t block) {
  for (const UserCache* cache = heap.caches().front(); cache != nullptr; cache = UserHeap::CacheList::next(cache))
    if (cache->heads[size_class].leads_to(at<void>(block), 0, kMostRoom)) return true;
  return false;
}

bool UserHeaps::view_block(const void* address, UserBlockView& view) {
  if (!are_used()) return false;
  bool is_found = false;
  lists_.for_each([&](UserHeap& heap) {
    if (is_found) return;
    const Operation operation(*this, heap);
    if (const Slab* const slab = heap.slab_around(address); slab != nullptr) {
      view.block = BlockView(*slab, address);
      view.is_cached =
          view.block.state == BlockView::State::kOut && is_cached(heap, view.block.size_class, view.block.start);
    } else if (const HeapLarge* const large = heap.large_around(address); large != nullptr) {
      view.block.start = address_of(large->start);
      view.block.block_bytes = large->bytes;
      view.block.state = BlockView::State::kOut;
    } else {
      return;
    }
    memcpy(view.name, heap.name(), sizeof view.name);
    is_found = true;
  });
  return is_found;
}

size_t UserHeaps::trim(UserHeap& heap) {
  UserCache* const own = find(heap);
  const Operation operation(*this, heap);
  const size_t given = make_room(heap, own);
  return given + heap.trim();
}

size_t UserHeaps::trim() {
  size_t given = 0;
  if (!are_used()) return given;
  flush_own();
  lists_.for_each([&](UserHeap& heap) {
    const Operation operation(*this, heap);
    given += heap.trim();
  });
  give_stocks(false);
  return given;
}

void UserHeaps::begin_visits(UserHeap& heap) {
  const Operation operation(*this, heap);
  empty_all(heap);
  heap.begin_visits();
}

void UserHeaps::end_visits(UserHeap& heap) {
  const Operation operation(*this, heap);
  heap.end_visits();
}

// Takes their heap from the caches of all threads. What they hold ends with its slabs, unless it has to be told from
// blocks in use. False, and nothing has happened, if there are such and may not be.
bool UserHeaps::let_go_of_caches(UserHeap& heap) {
  const Operation operation(*this, heap);
  if (heap.limits().must_be_empty) {
    empty_all(heap);
    if (heap.blocks_out() != 0 || heap.large_blocks() != 0) return false;
  }
  while (UserCache* const cache = heap.caches().front()) {
    heap.caches().remove(cache);
    cache->set_no_heap();
  }
  return true;
}

HeapLarge* UserHeaps::take_first_large(UserHeap& heap) {
  const Operation operation(*this, heap);
  HeapLarge* const large = heap.first_large();
  if (large == nullptr) return nullptr;
  larges_.take(large->start);
  heap.remove(large);
  if (!heap.is_in_region()) heap.let_go(large->bytes);
  return large;
}

namespace {

// The last step of HeapLists::end_if(), which holds the heap's lock.
void end_under_lock(UserHeap& heap) {
  heap.lock().assume_held();
  heap.end();
}

}  // namespace

void UserHeaps::end(UserHeap& heap) {
  lists_.end_if(heap, [](UserHeap&) { return true; }, end_under_lock);
  if (own_caches != nullptr) own_caches->ended = &heap;
}

void UserHeaps::rest(UserHeap& heap) {
  const Operation operation(*this, heap);
  heap.rest();
}

void UserHeaps::end_if_empty(UserHeap& heap) {
  lists_.end_if(
      heap,
      [](UserHeap& resting) {
        resting.lock().assume_held();
        return resting.stop_resting();
      },
      end_under_lock);
}

const char* UserHeaps::check() {
  const char* broken = nullptr;
  if (!are_used()) return broken;
  {
    LockGuard guard(records_lock_);
    for (UserCaches* own = all_own_.front(); own != nullptr; own = OwnList::next(own))
      if (broken == nullptr) broken = own->pages.check();
  }
  if (broken == nullptr) broken = slab_records_.check();
  if (broken == nullptr) broken = larges_.check();
  if (broken == nullptr) broken = lists_.check([](const UserHeap& heap) { return !heap.is_ended(); });
  lists_.for_each([&](UserHeap& heap) {
    const Operation operation(*this, heap);
    if (broken == nullptr) broken = heap.check();
    for (const UserCache* cache = heap.caches().front(); cache != nullptr; cache = UserHeap::CacheList::next(cache))
      if (broken == nullptr && cache->heap() != &heap) broken = "user heaps: a cache is of another heap";
    const auto any = [](const void*, size_t) { return true; };
    for (const HeapLarge* large = heap.next_large(nullptr, any); large != nullptr; large = heap.next_large(large, any))
      if (broken == nullptr && !larges_.has(*large)) broken = "user heaps: a large block is not known";
  });
  return broken;
}

void UserHeaps::lock_all() {
  lists_.lock_all();
  in_flight_.lock_at_rest(records_lock_);
  for (UserCaches* own = all_own_.front(); own != nullptr; own = OwnList::next(own)) own->pages.lock().lock_for_fork();
  slab_records_.lock().lock_for_fork();
  regions_.lock().lock_for_fork();
  larges_.lock().lock_for_fork();
}

void UserHeaps::drop_other_threads() { lists_.drop_other_threads(); }

void UserHeaps::unlock_all() {
  larges_.lock().unlock_after_fork();
  regions_.lock().unlock_after_fork();
  slab_records_.lock().unlock_after_fork();
  for (UserCaches* own = all_own_.front(); own != nullptr; own = OwnList::next(own))
    own->pages.lock().unlock_after_fork();
  records_lock_.unlock_after_fork();
  lists_.unlock_all();
}

}  // namespace snug
