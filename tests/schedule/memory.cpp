#include "memory.h"
#include "base/atomic.h"

#include <algorithm>
#include <bit>

namespace snug::schedule {

namespace {

bool acquires(MemoryOrder order) { return order != kRelaxed && order != kRelease; }
bool releases(MemoryOrder order) { return order == kRelease || order == kAcqRel || order == kSeqCst; }
bool is_seq_cst(MemoryOrder order) { return order == kSeqCst; }
uint64_t bit_of(unsigned location) { return uint64_t{1} << location; }

}  // namespace

void join_seen(SeenPart& mine, const SeenPart& other) {
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], other[i]);
}

void View::join(const View& other) {
  for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
  join_seen(seen, other.seen);
}

void Memory::Thread::restart(unsigned self) {
  current = released = to_acquire = light = to_see = View{};
  current.clock[self] = 1;
  pending.clear();
  read = 0;
  stale = has_written = is_anything_new = false;
}

void Memory::Thread::acquire(const View& published, MemoryOrder order) {
  (acquires(order) ? current : to_acquire).join(published);
}

void Memory::restart(unsigned threads, Search& search) {
  search_ = &search;
  count_ = threads;
  for (unsigned i = 0; i < threads; ++i) threads_[i].restart(i);
  location_count_ = 0;
  seq_cst_ = {};
}

unsigned Memory::create(unsigned thread, uint64_t value) {
  if (location_count_ == kMaxLocations) return kMaxLocations;
  Location& location = locations_[location_count_];
  location.history.assign(1, {value, View{}});
  location.alive = true;
  location.touched_at = {};
  location.maker = static_cast<uint8_t>(thread);
  location.made_at = thread == kNobody ? 0 : threads_[thread].current.clock[thread];
  return location_count_++;
}

const char* Memory::touch(unsigned thread, unsigned location) {
  Location& touched = locations_[location];
  if (!touched.alive) return "an atomic is used after its destruction";
  if (thread == kNobody) return nullptr;
  const auto& clock = threads_[thread].current.clock;
  if (touched.maker != kNobody && clock[touched.maker] < touched.made_at) {
    return "an atomic is used, and its construction does not happen before";
  }
  touched.touched_at[thread] = clock[thread];
  return nullptr;
}

const char* Memory::destroy(unsigned thread, unsigned location) {
  if (const char* const complaint = touch(thread, location)) return complaint;
  Location& destroyed = locations_[location];
  destroyed.alive = false;
  if (thread == kNobody) return nullptr;
  for (unsigned other = 0; other < count_; ++other) {
    if (destroyed.touched_at[other] > threads_[thread].current.clock[other]) {
      return "an atomic is destroyed, and its use by another thread does not happen before";
    }
  }
  return nullptr;
}

const Memory::PendingStore* Memory::newest_pending(const Thread& thread, unsigned location) const {
  for (size_t i = thread.pending.size(); i-- > 0;) {
    if (thread.pending[i].location == location) return &thread.pending[i];
  }
  return nullptr;
}

unsigned Memory::oldest_readable(const Thread& thread, unsigned location, MemoryOrder order) const {
  if (!has_views()) return newest(location);
  const uint16_t seen = thread.current.seen[location];
  return is_seq_cst(order) ? std::max(seen, seq_cst_[location]) : seen;
}

void Memory::observe(Thread& thread, unsigned location, unsigned index, MemoryOrder order) {
  const std::vector<Message>& history = locations_[location].history;
  const bool is_read_again = (thread.read & bit_of(location)) != 0;
  if (has_views() && is_read_again && history[index].value != history[thread.read_at[location]].value) {
    thread.stale = true;
  }
  thread.current.seen[location] = static_cast<uint16_t>(index);
  thread.read |= bit_of(location);
  thread.read_at[location] = static_cast<uint16_t>(index);
  if (is_seq_cst(order)) seq_cst_[location] = std::max(seq_cst_[location], static_cast<uint16_t>(index));
  thread.acquire(history[index].published, order);
}

uint64_t Memory::load(unsigned thread, unsigned location, MemoryOrder order) {
  Thread& self = threads_[thread];
  if (const PendingStore* const own = newest_pending(self, location)) {
    self.read |= bit_of(location);
    return own->value;
  }
  const unsigned readable = newest(location) - oldest_readable(self, location, order) + 1;
  const unsigned index = newest(location) - search_->pick(readable);
  observe(self, location, index, order);
  return locations_[location].history[index].value;
}

// What a store of this order takes along for its readers.
View Memory::publish(unsigned thread, MemoryOrder order) {
  Thread& self = threads_[thread];
  if (!releases(order)) return self.released;
  View published = self.current;
  ++self.current.clock[thread];  // what comes now does not happen before the readers
  return published;
}

// The location's next value is the thread's own.
void Memory::see_own(Thread& thread, unsigned location, MemoryOrder order) {
  if (!has_views()) return;
  thread.current.seen[location] = static_cast<uint16_t>(newest(location) + 1);
  if (is_seq_cst(order)) seq_cst_[location] = thread.current.seen[location];
}

void Memory::put(unsigned thread, unsigned location, uint64_t value, const View& published) {
  std::vector<Message>& history = locations_[location].history;
  if (history.back().value != value) {
    for (unsigned i = 0; i < count_; ++i) {
      if (i == thread) continue;
      threads_[i].is_anything_new = true;
      if ((threads_[i].read & bit_of(location)) != 0) threads_[i].stale = true;
    }
  }
  if (has_views()) {
    history.push_back({value, published});
  } else {
    history.back() = {value, published};
  }
}

void Memory::store(unsigned thread, unsigned location, uint64_t value, MemoryOrder order) {
  Thread& self = threads_[thread];
  self.has_written = true;
  if (has_buffers() && !is_seq_cst(order)) {
    self.pending.push_back({static_cast<uint8_t>(location), false, value, publish(thread, order)});
    return;
  }
  land_all(thread);
  see_own(self, location, order);
  put(thread, location, value, publish(thread, order));
}

uint64_t Memory::load_in_kernel(unsigned thread, unsigned location) {
  fence(thread, kSeqCst);
  observe(threads_[thread], location, newest(location), kRelaxed);
  return locations_[location].history.back().value;
}

uint64_t Memory::latest(unsigned thread, unsigned location) {
  land_all(thread);
  return locations_[location].history.back().value;
}

void Memory::replace(unsigned thread, unsigned location, uint64_t value, MemoryOrder order) {
  Thread& self = threads_[thread];
  const Message replaced = locations_[location].history.back();
  observe(self, location, newest(location), order);
  see_own(self, location, order);
  View published = publish(thread, order);
  published.join(replaced.published);  // an update continues the release sequence
  if (value != replaced.value) self.has_written = true;
  put(thread, location, value, published);
  self.read_at[location] = static_cast<uint16_t>(newest(location));
}

bool Memory::compare(unsigned thread, unsigned location, uint64_t& expected, MemoryOrder failure) {
  land_all(thread);
  Thread& self = threads_[thread];
  const std::vector<Message>& history = locations_[location].history;
  const unsigned last = newest(location), oldest = oldest_readable(self, location, failure);
  const auto can_be_read = [&](unsigned index) { return index == last || history[index].value != expected; };
  unsigned readable = 0;
  for (unsigned index = oldest; index <= last; ++index) readable += can_be_read(index) ? 1 : 0;
  unsigned index = last;
  for (unsigned skip = search_->pick(readable); skip > 0;) {
    if (can_be_read(--index)) --skip;
  }
  if (history[index].value == expected) return true;
  observe(self, location, index, failure);
  expected = history[index].value;
  return false;
}

void Memory::fence(unsigned thread, MemoryOrder order) {
  Thread& self = threads_[thread];
  if (acquires(order)) self.current.join(self.to_acquire);
  if (is_seq_cst(order)) {
    land_all(thread);
    join_seen(self.current.seen, seq_cst_);
    join_seen(seq_cst_, self.current.seen);
  }
  if (releases(order)) self.released = publish(thread, order);
}

void Memory::light_fence(unsigned thread) {
  Thread& self = threads_[thread];
  self.current.join(self.to_see);
  self.light = publish(thread, kRelease);
  for (PendingStore& store : self.pending) store.fixed = true;
}

void Memory::membarrier(unsigned thread) {
  Thread& self = threads_[thread];
  fence(thread, kSeqCst);
  for (unsigned i = 0; i < count_; ++i) {
    if (i == thread) continue;
    while (has_pending(i) && threads_[i].pending.front().fixed) land_one(i);
    self.current.join(threads_[i].light);
  }
  const View published = publish(thread, kRelease);
  for (unsigned i = 0; i < count_; ++i) {
    if (i != thread) threads_[i].to_see.join(published);
  }
}

void Memory::land_one(unsigned thread) {
  std::vector<PendingStore>& pending = threads_[thread].pending;
  const PendingStore& oldest = pending.front();
  put(thread, oldest.location, oldest.value, oldest.published);
  pending.erase(pending.begin());
}

void Memory::land_all(unsigned thread) {
  while (has_pending(thread)) land_one(thread);
}

unsigned Memory::next_difference(const Thread& thread, unsigned location) const {
  const std::vector<Message>& history = locations_[location].history;
  const unsigned read = thread.read_at[location];
  for (unsigned index = read + 1; index < history.size(); ++index) {
    if (history[index].value != history[read].value) return index;
  }
  return 0;
}

bool Memory::yield_is_over(unsigned thread) const {
  const Thread& self = threads_[thread];
  if (self.has_written || self.stale || self.read == 0) return true;
  if (!has_views()) return false;
  for (uint64_t left = self.read; left != 0; left &= left - 1) {
    if (next_difference(self, static_cast<unsigned>(std::countr_zero(left))) != 0) return true;
  }
  return false;
}

void Memory::end_yield(unsigned thread) {
  Thread& self = threads_[thread];
  if (has_views() && !self.has_written && !self.stale && self.read != 0) {
    // What was stored is seen at last: one of the locations, whichever, shows another value in the next round.
    unsigned changed[kMaxLocations];
    unsigned count = 0;
    for (uint64_t left = self.read; left != 0; left &= left - 1) {
      const auto location = static_cast<unsigned>(std::countr_zero(left));
      if (next_difference(self, location) != 0) changed[count++] = location;
    }
    const unsigned location = changed[search_->pick(count)];
    uint16_t& seen = self.current.seen[location];
    seen = std::max(seen, static_cast<uint16_t>(next_difference(self, location)));
  }
  self.read = 0;
  self.stale = self.has_written = false;
}

void Memory::end_pause(unsigned thread) {
  Thread& self = threads_[thread];
  self.read = 0;
  self.stale = self.has_written = self.is_anything_new = false;
}

uint64_t Memory::pending_locations(unsigned thread) const {
  uint64_t locations = 0;
  for (const PendingStore& store : threads_[thread].pending) locations |= bit_of(store.location);
  return locations;
}

Footprint Memory::footprint(unsigned thread, const Operation& next) const {
  Footprint footprint;
  const uint64_t location = bit_of(next.location);
  const bool seq_cst = is_seq_cst(next.order);
  if (has_views() && seq_cst) footprint.writes |= Footprint::kSeqCst;
  switch (next.kind) {
    case Kind::kLoad:
      if (newest_pending(threads_[thread], next.location) == nullptr) footprint.reads |= location;
      break;
    case Kind::kYield:
      footprint.reads |= threads_[thread].read;
      break;
    case Kind::kLightFence:
      break;
    case Kind::kPause:
      footprint.reads = ~uint64_t{0};
      break;
    case Kind::kFork:
    case Kind::kMembarrier:
      footprint.reads = footprint.writes = ~uint64_t{0};
      break;
    case Kind::kFence:
      footprint.writes |= seq_cst ? pending_locations(thread) : 0;
      break;
    default:
      footprint.writes |= location | pending_locations(thread);
      break;
  }
  return footprint;
}

}  // namespace snug::schedule
