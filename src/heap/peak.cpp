#include "heap/peak.h"

#include <algorithm>
#include <new>

#include "heap/store.h"

namespace snug {

size_t Peak::grown() { return store.spans.bytes_grown().load(std::memory_order_relaxed) + store.large.bytes_grown(); }

size_t Peak::committed() {
  const SpanStatistics spans = store.spans.statistics();
  const LargeStatistics large = store.large.statistics();
  return spans.chunks * kChunkSize - (spans.bytes_free - spans.bytes_dirty) + large.bytes_usable + large.bytes_kept +
         store.arena.bytes_used();
}

// The lock is held.
void Peak::measure_now() {
  ++looks_;
  if (attribute_memory(now_, samples_) && now_.sums.rss > highest_.sums.rss) highest_ = now_;
}

SNUG_COLD void Peak::look() {
  if (!lock_.try_lock()) return;
  const size_t grown_now = grown();
  const size_t most = committed();
  const auto enough = [this] { return highest_.sums.rss + highest_.sums.rss / kPart; };
  if (most > enough()) measure_now();
  const size_t missing = enough() > most ? enough() - most : 0;
  next_look_.store(grown_now + std::max({kLeastStep, highest_.sums.rss / kPart, missing}), std::memory_order_relaxed);
  lock_.unlock();
}

const Attribution* Peak::conclude() {
  if (lock_.try_lock()) {
    measure_now();
    lock_.unlock();
  }
  return highest_.sums.rss != 0 ? &highest_ : nullptr;
}

bool Peak::measure(snug_memory& memory) {
  const LockGuard guard(lock_);
  const bool told = attribute_memory(now_, samples_);
  memory = told ? now_.sums : snug_memory{};
  return told;
}

void Peak::after_fork_in_child() {
  ::new (&lock_) Lock;  // another thread may have held it
  looks_ = 0;
  highest_ = {};
  if (is_watched()) watch();
}

}  // namespace snug
