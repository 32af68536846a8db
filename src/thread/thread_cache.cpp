#include "thread/thread_cache.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/probe.h"
#include "base/sort.h"
#include "os/clock.h"
#include "thread/head_table.h"

namespace snug {
namespace {

// Groups of shared blocks taken at once: a thread that does little should not hold what other threads could use.
constexpr size_t kSharedGroups = 4;
constexpr size_t kMostShared = kSharedGroups * kMostLineGroup;
static_assert(kMostShared <= ArrayStore::kLeastPlaces, "a first array has places for all of them");

// Up to so many blocks of a class may lie unused in a cache: no array is shorter, and scavenging leaves them.
constexpr size_t kFewBlocks = ArrayStore::kLeastPlaces;

// The clock is read, to scavenge as due, once in so many slow operations.
constexpr uint32_t kScavengeOperations = 16;

// How many blocks a class's array may hold at first: no more than a slab has.
size_t first_room(const SizeClass& sizes) {
  return min<size_t>(sizes.blocks_per_slab, sizes.cached_max, ArrayStore::kLeastPlaces);
}

// `to` and `from` may be null, for an array that is not there yet, if `count` is 0.
void copy(void** to, void* const* from, size_t count) {
  if (count != 0) memcpy(to, from, count * sizeof(void*));
}

}  // namespace

ThreadCache::ThreadCache(SlabHeap& heap, HeapRegistry& registry, ArrayStore& arrays, ThreadState& state,
                         const CacheLimits& limits, const Atomic<size_t>& count)
    : heap_(heap), registry_(registry), arrays_store_(arrays), state_(&state), limits_(limits), caches_(count) {}

void* ThreadCache::refill(size_t size_class, bool* untouched) {
  void* lines[kMostShared];
  void** const lines_end = end_of(lines);
  const size_t shared = take_shared(size_class, lines_end);
  Operation operation(*this);
  Array& array = arrays_[size_class];
  CacheHead& head = state_->heads[size_class];
  if (head.held() != 0) [[unlikely]] {  // another thread had shut this one off from its blocks
    if (shared != 0) heap_.flush(size_class, lines_end - shared, shared);
    return head.take();
  }
  void* lone = nullptr;
  if (shared == 0 && untouched != nullptr && (*untouched = take_untouched(size_class, &lone))) return lone;
  const size_t want = prepare_batch(size_class);
  void** const base = head.base();
  void** end = array.places == 0 ? &lone + 1 : base + want;
  size_t got = 0;
  if (shared != 0) {
    got = min<size_t>(shared, array.room + 1u);
    if (got != shared) heap_.flush(size_class, lines_end - shared, shared - got);
    if (array.places != 0) end = base + got;
    copy(end - got, lines_end - got, got);
  } else {
    got = heap_.refill(size_class, end, want);
  }
  if (got == 0) return nullptr;
  SNUG_PROBE_3("refill", registry_.table().classes[size_class].block_size, got, heap_.id());
  has_refilled(size_class, got);
  void* const first = end[-1];
  if (got > 1 && end - got != base) memmove(base, end - got, (got - 1) * sizeof(void*));
  head.move_top(base + got - 1);
  scavenge_as_due();
  return first;
}

// Takes a block that reads as zero, not through the array: true if there is one.
bool ThreadCache::take_untouched(size_t size_class, void** block) {
  if (heap_.take_untouched(size_class, block + 1) == 0) return false;
  refills_.add(1);
  registry_.note_use();
  arrays_[size_class].seen = kMoved;
  scavenge_as_due();
  return true;
}

// Takes first blocks of the class, in whole cache lines, if the thread has not had its share yet; else 0. The thread
// may have to wait for the shared heap's lock, hence not under its own heap's.
size_t ThreadCache::take_shared(size_t size_class, void** end) {
  Array& array = arrays_[size_class];
  const SizeClass& one = sizes(size_class);
  if (array.shared >= one.shared_max || limits_.batching == Batching::kOne) return 0;
  if (heap_.slab_count(size_class) != 0) return 0;
  const size_t got = registry_.take_shared(heap_.home(), size_class, end,
                                           clamp<size_t>(array.batch / one.line_group, 1, kSharedGroups));
  array.shared = static_cast<uint16_t>(array.shared + got);
  return got;
}

// How many blocks the next refill of the class takes. The array has places for all of them, and room for all but the
// one that is handed out.
size_t ThreadCache::prepare_batch(size_t size_class) {
  Array& array = arrays_[size_class];
  if (array.places == 0 && !open(size_class)) return 1;
  const size_t batch = array.batch;
  if (batch > array.room + 1u) {
    const size_t room = min<size_t>(sizes(size_class).cached_max, batch - 1);
    if (room > array.room && affords(size_class, room)) use_array(size_class, room);
  }
  if (limits_.batching == Batching::kOne) return 1;
  const size_t most = SlabHeap::kSlabsARefill * sizes(size_class).blocks_per_slab;
  array.batch = static_cast<uint16_t>(min(batch * 2, most, kMostBatch));
  return min<size_t>(batch, array.room + 1u, array.places);
}

void ThreadCache::overflow(size_t size_class, void* block) {
  Operation operation(*this);
  Array& array = arrays_[size_class];
  CacheHead& head = state_->heads[size_class];
  if (head.top() == head.limit() && !make_room(size_class)) {
    if (array.places == 0 || limits_.batching == Batching::kOne) {  // no memory for an array; or a batch of one
      heap_.flush(size_class, &block, 1);
      flushes_.add(1);
      scavenge_as_due();
      return;
    }
    flush_overflow(size_class);
  }
  array.seen = kMoved;
  head.put(block);
  registry_.note_use();
  scavenge_as_due();
}

// True if the class's array, which was full or not there, has room now.
bool ThreadCache::make_room(size_t size_class) {
  return arrays_[size_class].places == 0 ? open(size_class) : grow(size_class);
}

size_t ThreadCache::take_batch(size_t size_class, void** blocks, size_t count) {
  Operation operation(*this);
  CacheHead& head = state_->heads[size_class];
  const size_t cached = min(count, this->count(size_class));
  head.move_top(head.top() - cached);
  copy(blocks, head.top(), cached);
  // Slabs give their blocks downwards from an end.
  void** const first = blocks + cached;
  void** end = blocks + count;
  while (end != first) {
    const size_t got = heap_.refill(size_class, end, static_cast<size_t>(end - first));
    if (got == 0) break;
    refills_.add(1);
    has_been_wanted(size_class, got);
    end -= got;
  }
  const auto missing = static_cast<size_t>(end - first);
  if (missing != 0) memmove(first, end, (count - cached - missing) * sizeof(void*));
  store_shared(state_->allocations, state_->allocations + (count - missing));
  arrays_[size_class].seen = kMoved;
  scavenge_as_due();
  return count - missing;
}

void ThreadCache::give_batch(size_t size_class, void* const* blocks, size_t count) {
  Operation operation(*this);
  CacheHead& head = state_->heads[size_class];
  const size_t fits = min(count, static_cast<size_t>(head.limit() - head.top()));
  copy(head.top(), blocks, fits);
  head.move_top(head.top() + fits);
  if (fits != count) {
    heap_.flush(size_class, blocks + fits, count - fits);
    flushes_.add(1);
    has_gone_home(size_class, count - fits);
  }
  arrays_[size_class].seen = kMoved;
  scavenge_as_due();
}

void* ThreadCache::take_uncached(size_t size_class) {
  Operation operation(*this);
  void* block = nullptr;
  if (heap_.refill(size_class, &block + 1, 1) != 0) registry_.note_use();
  scavenge_as_due();
  return block;
}

void ThreadCache::give_uncached(size_t size_class, void* block) {
  Operation operation(*this);
  heap_.flush(size_class, &block, 1);
  scavenge_as_due();
}

bool ThreadCache::open(size_t size_class) {
  const size_t room = first_room(sizes(size_class));
  return use_array(size_class, affords(size_class, room) ? room : 1);
}

bool ThreadCache::exceeds(size_t more) const {
  const size_t most = most_room();
  size_t beyond = room_bytes_ + more;
  for (size_t c = 1; c < kMaxClasses && beyond > most; ++c)
    if (arrays_[c].room != 0) beyond -= sizes(c).block_size;
  return beyond > most;
}

// True if the budget allows the class's array that much room.
bool ThreadCache::affords(size_t size_class, size_t room) const {
  const size_t had = arrays_[size_class].room;
  if (room <= had) return true;
  if (exceeds((room - max<size_t>(had, 1)) * sizes(size_class).block_size)) return false;
  return !drains_ || affords_draining(size_class, room);
}

bool ThreadCache::grow(size_t size_class) {
  Array& array = arrays_[size_class];
  const size_t most = sizes(size_class).cached_max;
  const bool still_small = array.room < kMostBatch;
  if ((!array.ran_empty && !still_small) || array.room >= most) return false;
  array.ran_empty = false;
  const size_t room = min<size_t>(most, array.room * 2u);
  return affords(size_class, room) && use_array(size_class, room);
}

// Gives the class an array with room for `room` blocks, its contents carried over.
bool ThreadCache::use_array(size_t size_class, size_t room) {
  Array& array = arrays_[size_class];
  CacheHead& head = state_->heads[size_class];
  const size_t places = max(bit_ceil(room), ArrayStore::kLeastPlaces);
  const size_t held = count(size_class);
  void** base = head.base();
  if (is_closed_) return false;
  if (places != array.places) {
    void** other =
        array.places == 0 ? arrays_store_.take(places) : arrays_store_.exchange(base, array.places, held, places);
    if (other == nullptr) return false;
    base = other;
    store_shared(array.places, static_cast<uint16_t>(places));
  }
  room_bytes_ += (room - array.room) * sizes(size_class).block_size;
  extra_bytes_ += extra_bytes(size_class, room) - extra_bytes(size_class, array.room);
  array.room = static_cast<uint16_t>(room);
  head.point_at(base, held, room);
  return true;
}

void ThreadCache::flush_older(size_t size_class, size_t number) {
  CacheHead& head = state_->heads[size_class];
  heap_.flush(size_class, head.base(), number);
  flushes_.add(1);
  head.drop_oldest(number);
}

void ThreadCache::flush_whole(size_t size_class) {
  if (const size_t held = count(size_class); held != 0) flush_older(size_class, held);
}

void ThreadCache::scavenge_as_due() {
  if (++slow_operations_ % kScavengeOperations != 0) return;
  const uint32_t now = os::milliseconds();
  if (now - scavenged_at_ < limits_.scavenge_after) return;
  scavenged_at_ = now;
  scavenge();
}

// Sends home arrays that have not changed since the last scavenge, and lets them start small again. An array that has
// been in use, but has neither run empty nor full, holds more than its class needs: the older part of it goes home.
void ThreadCache::scavenge() {
  if (trays_ != nullptr) flush_trays();
  for (size_t c = 1; c < kMaxClasses; ++c) {
    Array& array = arrays_[c];
    const size_t held = count(c);
    if (held != 0 && held == array.seen) {
      flush_older(c, held);
      use_array(c, min<size_t>(array.room, first_room(sizes(c))));
      array.batch = 1;
    } else if (held > kFewBlocks && array.seen != kMoved) {
      flush_older(c, held - held / 4);
    }
    array.seen = static_cast<uint16_t>(count(c));
  }
  drains_after_ = max(drains_after_ / 2, kDrains);
  heap_.age(scavenged_at_, limits_.scavenge_after);
}

void ThreadCache::flush_all() {
  Operation operation(*this);
  send_all_home();
}

ThreadCache::Misused ThreadCache::look_for_misuse() {
  for (size_t c = 1; c < kMaxClasses; ++c) {
    if (arrays_[c].places == 0) continue;
    // The thread may have been interrupted between two steps of a malloc: top is below the base then.
    const size_t held = count(c);
    if (held == 0) continue;
    void** const base = state_->heads[c].base();
    sort(base, base + held);
    const void* before = nullptr;
    for (void** place = base; place != base + held; ++place) {
      if (*place == before) return {*place, kAlreadyFree};
      if (const char* fault = registry_.fault_of(*place, &heap_); fault != nullptr) return {*place, fault};
      before = *place;
    }
  }
  return {};
}

void ThreadCache::send_all_home() {
  if (trays_ != nullptr) flush_trays();
  for (size_t c = 1; c < kMaxClasses; ++c) flush_whole(c);
  heap_.open_all_mail();
}

// A head without an array may be a tray's.
size_t ThreadCache::count(size_t size_class) const {
  return load_shared(arrays_[size_class].places) != 0 ? state_->heads[size_class].held() : 0;
}

size_t ThreadCache::cached(size_t size_class) const {
  // The thread may be changing its arrays meanwhile: an impossible difference counts as nothing. Blocks that it is shut
  // off from count as cached until they are taken.
  const size_t tray = tray_of(registry_.table(), size_class);
  const size_t in_tray = tray != 0 ? state_->heads[tray].held() : 0;
  const size_t held = count(size_class) + load_shared(arrays_[size_class].pending) + in_tray;
  return held > ArrayStore::kMostPlaces + Trays::kMost ? 0 : held;
}

uint64_t ThreadCache::allocations() const { return load_shared(state_->allocations); }

const char* ThreadCache::check() const {
  heap_.lock().assume_held();
  size_t room_bytes = 0;
  size_t extra_bytes = 0;
  for (size_t c = 0; c < kMaxClasses; ++c) {
    const Array& array = arrays_[c];
    if (array.places == 0) continue;
    const CacheHead& head = state_->heads[c];
    if (static_cast<size_t>(head.limit() - head.base()) + array.raised != array.room || array.room > array.places)
      return "thread cache: a limit is not at the end of its array's room";
    if (head.held() > array.room) return "thread cache: a top lies outside its array";
    for (void** place = head.base() - array.pending; place < head.top(); ++place) {
      const PageMap& page_map = registry_.page_map();
      if (!page_map.contains(*place) || page_map.class_at(page_map.index_of(*place)) != scaled(c))
        return "thread cache: an array holds what is not a block of its class";
    }
    room_bytes += array.room * size_t{sizes(c).block_size};
    extra_bytes += this->extra_bytes(c, array.room);
  }
  if (room_bytes != room_bytes_ || extra_bytes != extra_bytes_) return "thread cache: the bytes of room are wrong";
  return nullptr;
}

}  // namespace snug
