// What a full array sends home, and what it keeps when only frees come: by class, and for the thread as a whole.
#include "base/algorithm.h"
#include "thread/thread_cache.h"

namespace snug {
namespace {

// A thread that takes blocks from the slabs needs them cached: each byte taken offsets so many that have gone home. A
// few temporaries among many frees must not end the draining.
constexpr size_t kWantedWeight = 4;

// Each array of a thread that drains may have room for a few blocks: for a page's worth, but for at least one
// block and at most as many as the shortest array holds. Beyond that the arrays share kDrainedBudget, and none grows to
// more than half of it. A thread that only frees what others allocate drains for ever: room for just a few large blocks
// would slow it down.
constexpr size_t kDrainedBudget = size_t{512} << 10;
constexpr size_t kDrainedMost = kDrainedBudget / 2;

}  // namespace

// Called when the class's array is full and may not grow.
void ThreadCache::flush_overflow(size_t size_class) {
  Array& array = arrays_[size_class];
  const bool drains = array.flushed >= kDrains || drains_;
  // Half goes, since frees and mallocs take turns; nearly all if only frees have come since the last time.
  const bool only_frees = drains || (array.flushed != 0 && array.room <= kMostBatch);
  const bool has_too_much = exceeds(0);
  const size_t kept = only_frees ? min<size_t>(array.room, kMostBatch) / 16 : array.room / (has_too_much ? 4 : 2);
  const size_t gone = max<size_t>(1, array.room - kept);
  flush_older(size_class, gone);
  if (drains && array.room > kMostBatch) use_array(size_class, kMostBatch);
  if (has_too_much) use_array(size_class, max(kept + 1, size_t{array.room} / 2));
  has_gone_home(size_class, gone);
}

// Called when blocks have gone home for want of room.
void ThreadCache::has_gone_home(size_t size_class, size_t count) {
  const size_t bytes = count * sizes(size_class).block_size;
  Array& array = arrays_[size_class];
  array.flushed = static_cast<uint32_t>(min(kDrains, array.flushed + bytes));
  sent_home_ = min(drains_after_, sent_home_ + bytes);
  if (sent_home_ == drains_after_) drains_ = true;
  if (drains_) empty_next_array();
}

// Called when blocks have been taken out of the slabs.
void ThreadCache::has_been_wanted(size_t size_class, size_t count) {
  arrays_[size_class].flushed = 0;
  sent_home_ -= min(sent_home_, kWantedWeight * count * sizes(size_class).block_size);
  if (sent_home_ != 0 || !drains_) return;
  // The blocks that went home were needed again: a thread that repeatedly frees all it has and then takes much of it
  // again soon keeps its arrays.
  drains_ = false;
  drains_after_ = min(2 * drains_after_, kDrainsLatest);
}

// Called when the class's array was empty, and blocks out of the slabs have come for it.
void ThreadCache::has_refilled(size_t size_class, size_t count) {
  refills_.add(1);
  registry_.note_use();
  has_been_wanted(size_class, count);
  arrays_[size_class].seen = kMoved;
  arrays_[size_class].ran_empty = true;
}

// How much of an array's room its class keeps while the thread drains. extra_bytes(): the bytes of the rest.
size_t ThreadCache::least_room(size_t size_class, size_t room) const {
  if (room <= 1) return room;  // a class that does not exist has no room, and its block size is 0
  return min(room, clamp<size_t>(kPageSize / sizes(size_class).block_size, 1, ArrayStore::kLeastPlaces));
}

size_t ThreadCache::extra_bytes(size_t size_class, size_t room) const {
  return (room - least_room(size_class, room)) * sizes(size_class).block_size;
}

bool ThreadCache::affords_draining(size_t size_class, size_t room) const {
  const size_t growth = extra_bytes(size_class, room) - extra_bytes(size_class, arrays_[size_class].room);
  if (growth == 0) return true;
  return room * sizes(size_class).block_size <= kDrainedMost && extra_bytes_ + growth <= kDrainedBudget;
}

// Empties one array at a time, so that no free waits for all of them.
void ThreadCache::empty_next_array() {
  if (extra_bytes_ <= kDrainedBudget) return;
  size_t room = 0;
  size_t least = 0;
  while (room == least) {
    last_emptied_ = last_emptied_ % (kMaxClasses - 1) + 1;
    room = arrays_[last_emptied_].room;
    least = least_room(last_emptied_, room);
  }
  flush_whole(last_emptied_);
  use_array(last_emptied_, least);
}

}  // namespace snug
