#include "thread/thread_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/fatal.h"

namespace snug {
namespace {

// What a class's array may hold at first, in bytes: a page a class would be too much for a thread that does little.
constexpr size_t kFirstBytes = size_t{64} << 10;

size_t first_room(const SizeClass& sizes) {
  return std::clamp<size_t>(kFirstBytes / sizes.block_size, 1,
                            std::min<size_t>(sizes.cached_max, ArrayStore::kLeastPlaces - 1));
}

}  // namespace

// Marks the stretch in which slabs and arrays are in flux.
class ThreadCache::Busy {
 public:
  explicit Busy(ThreadCache& cache) : cache_(cache) { cache_.busy_.store(true, std::memory_order_release); }
  ~Busy() { cache_.busy_.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ThreadCache& cache_;
};

ThreadCache::ThreadCache(SlabHeap& heap, HeapRegistry& registry, ArrayStore& arrays, ThreadState& state, size_t budget)
    : heap_(heap), registry_(registry), arrays_store_(arrays), state_(&state), budget_(budget) {
  std::memcpy(state.small, registry.table().small, sizeof state.small);
}

void* ThreadCache::refill(size_t size_class) {
  Busy busy(*this);
  Array& array = arrays_[size_class];
  void* batch[kMostBatch];
  size_t want = 1;
  if (array.places != 0 || open(size_class)) want = std::min<size_t>(array.batch, array.room);
  const size_t got = heap_.refill(size_class, batch, want);
  if (got == 0) return nullptr;
  refills_.add(1);
  // The first is handed out at once, the others lie so that they come out in address order.
  void** place = array.base.load(std::memory_order_relaxed);
  for (size_t i = got; --i != 0;) *++place = batch[i];
  if (got > 1) store_shared(state_->heads[size_class].top, place);
  if (array.batch < kMostBatch) array.batch = static_cast<uint16_t>(array.batch * 2);
  return batch[0];
}

void ThreadCache::overflow(size_t size_class, void* block) {
  Busy busy(*this);
  Array& array = arrays_[size_class];
  if (array.places == 0 ? !open(size_class) : !grow(size_class)) {
    if (array.places == 0) {  // no memory for an array
      heap_.flush(&block, 1);
      return;
    }
    flush_older(size_class, std::max<size_t>(1, array.room / 2));
  }
  CacheHead& head = state_->heads[size_class];
  head.top[1] = block;
  store_shared(head.top, head.top + 1);
}

bool ThreadCache::open(size_t size_class) { return use_array(size_class, first_room(sizes(size_class))); }

bool ThreadCache::grow(size_t size_class) {
  const Array& array = arrays_[size_class];
  const size_t most = sizes(size_class).cached_max;
  if (array.room >= most) return false;
  const size_t room = std::min<size_t>(most, array.room * 2u + 1);
  const size_t more = (room - array.room) * sizes(size_class).block_size;
  if (room_bytes_ + more > budget_) return false;
  return use_array(size_class, room);
}

// Gives the class an array with room for `room` blocks, its contents carried over.
bool ThreadCache::use_array(size_t size_class, size_t room) {
  Array& array = arrays_[size_class];
  const size_t places = std::max(std::bit_ceil(room + 1), ArrayStore::kLeastPlaces);
  const size_t held = count(size_class);
  void** base = array.base.load(std::memory_order_relaxed);
  if (places != array.places) {
    void** larger = arrays_store_.take(places);
    if (larger == nullptr) return false;
    if (array.places != 0) {
      std::memcpy(larger + 1, base + 1, held * sizeof(void*));
      arrays_store_.give(base, array.places);
    }
    base = larger;
    array.places = static_cast<uint16_t>(places);
    array.base.store(base, std::memory_order_relaxed);
  }
  room_bytes_ += (room - array.room) * sizes(size_class).block_size;
  array.room = static_cast<uint16_t>(room);
  store_shared(state_->heads[size_class].top, base + held);
  store_shared(state_->heads[size_class].limit, base + room);
  return true;
}

void ThreadCache::flush_older(size_t size_class, size_t number) {
  CacheHead& head = state_->heads[size_class];
  void** base = arrays_[size_class].base.load(std::memory_order_relaxed);
  heap_.flush(base + 1, number);
  flushes_.add(1);
  std::memmove(base + 1, base + 1 + number, (count(size_class) - number) * sizeof(void*));
  store_shared(head.top, head.top - number);
}

void ThreadCache::flush_all() {
  Busy busy(*this);
  for (size_t c = 1; c < kMaxClasses; ++c)
    if (const size_t held = count(c); held != 0) flush_older(c, held);
  heap_.drain_inbox();
}

void ThreadCache::retire() {
  flush_all();
  reset_heads(*state_);
  for (Array& array : arrays_) {
    if (array.places != 0) arrays_store_.give(array.base.load(std::memory_order_relaxed), array.places);
    array.base.store(nullptr, std::memory_order_relaxed);
    array.places = 0;
  }
}

size_t ThreadCache::count(size_t size_class) const {
  const Array& array = arrays_[size_class];
  return array.places == 0
             ? 0
             : static_cast<size_t>(state_->heads[size_class].top - array.base.load(std::memory_order_relaxed));
}

size_t ThreadCache::cached(size_t size_class) const {
  void** base = arrays_[size_class].base.load(std::memory_order_relaxed);
  if (base == nullptr) return 0;
  // Read while the thread may be changing arrays: an impossible difference counts as nothing.
  const ptrdiff_t held = load_shared(state_->heads[size_class].top) - base;
  return held < 0 || held >= static_cast<ptrdiff_t>(ArrayStore::kMostPlaces) ? 0 : static_cast<size_t>(held);
}

uint64_t ThreadCache::allocations() const { return load_shared(state_->allocations); }

const char* ThreadCache::check() const {
  size_t room_bytes = 0;
  for (size_t c = 0; c < kMaxClasses; ++c) {
    const Array& array = arrays_[c];
    if (array.places == 0) continue;
    const CacheHead& head = state_->heads[c];
    void** base = array.base.load(std::memory_order_relaxed);
    if (base[0] != nullptr) return "thread cache: the sentinel of an array was overwritten";
    if (head.limit != base + array.room) return "thread cache: a limit is not at the end of its array's room";
    if (head.top < base || head.top > head.limit) return "thread cache: a top lies outside its array";
    for (void** place = base + 1; place <= head.top; ++place) {
      const Window& window = registry_.window();
      if (!window.contains(*place) || window.class_at(window.index_of(*place)) != scaled(c))
        return "thread cache: an array holds what is not a block of its class";
    }
    room_bytes += array.room * size_t{sizes(c).block_size};
  }
  if (room_bytes != room_bytes_) return "thread cache: the bytes of room are wrong";
  return nullptr;
}

}  // namespace snug
