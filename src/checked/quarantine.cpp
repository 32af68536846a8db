#include "checked/quarantine.h"

#include <bit>

namespace snug {

void Quarantine::open(size_t limit, MetaArena& arena) {
  capacity_ = std::bit_ceil(limit / kLeastWeight + 1);
  ring_ = static_cast<Rested*>(arena.allocate(capacity_ * sizeof(Rested)));
  limit_ = ring_ != nullptr ? limit : 0;
}

// Where the ring is full it holds more bytes than the limit, so that a place becomes free first.
size_t Quarantine::admit(Rested rested, Rested* leaving) {
  LockGuard guard(lock_);
  const size_t taken = take(limit_ - weight(rested), leaving);
  ring_[(first_ + count_++) & (capacity_ - 1)] = rested;
  bytes_ += weight(rested);
  return taken;
}

size_t Quarantine::fetch(Rested* leaving) {
  LockGuard guard(lock_);
  return take(limit_, leaving);
}

size_t Quarantine::fetch_any(Rested* leaving) {
  if (!lock_.try_lock()) return 0;
  const size_t taken = take(0, leaving);
  lock_.unlock();
  return taken;
}

size_t Quarantine::take(size_t limit, Rested* leaving) {
  size_t taken = 0;
  for (; taken != kMostAtOnce && bytes_ > limit; --count_) {
    leaving[taken] = ring_[first_++ & (capacity_ - 1)];
    bytes_ -= weight(leaving[taken++]);
  }
  return taken;
}

}  // namespace snug
