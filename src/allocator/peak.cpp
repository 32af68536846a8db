#include "allocator/peak.h"

#include "allocator/allocator.h"
#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/in_place.h"

namespace snug {
namespace {

// The part, one in so many, by which a heap grows from look to look, and by which the peak found may be too low.
constexpr size_t kPart = 20;
// Bytes by which a small heap grows from look to look.
constexpr size_t kLeastStep = size_t{64} << 10;

}  // namespace

size_t Peak::grown() { return allocator.spans.bytes_grown().load(kRelaxed) + allocator.mappings.bytes_grown(); }

// No less than what is committed. Takes the locks of all stores, one after the other.
size_t Peak::committed() {
  const SpanStatistics spans = allocator.spans.statistics();
  const LargeStatistics large = allocator.mappings.statistics();
  return spans.chunks * kChunkSize - (spans.bytes_free - spans.bytes_dirty) + large.bytes_usable + large.bytes_kept +
         allocator.arena.bytes_held();
}

uint64_t Peak::enough() const { return highest_.sums.rss + highest_.sums.rss / kPart; }

void Peak::measure_now(uint64_t to_beat) {
  ++looks_;
  if (attribute_memory(now_, sizes_, has_forked_.load(kRelaxed)) && now_.sums.rss > to_beat) highest_ = now_;
}

// Returns when to look next.
size_t Peak::look_for_peak(size_t grown, size_t committed) {
  if (committed > enough()) measure_now(highest_.sums.rss);
  const size_t missing = enough() > committed ? enough() - committed : 0;
  return grown + max(kLeastStep, committed / kPart, missing);
}

SNUG_COLD void Peak::look() {
  if (!lock_.try_lock()) return;
  const size_t grown_now = grown();
  const size_t most = committed();
  size_t next = is_wanted_ ? look_for_peak(grown_now, most) : kNever - 1;
  bool is_due = false;
  if (step_ != 0) {
    is_due = most >= told_at_ + step_;
    if (is_due) told_at_ = most;
    next = min(next, grown_now + (told_at_ + step_ - most));
  }
  next_look_.store(next, kRelaxed);
  lock_.unlock();
  if (is_due) tell_();
}

// At the end, freed memory that is kept still counts as in memory: of an earlier moment with about as much in memory
// and the end, the earlier one shows what the memory was used for.
const Attribution* Peak::conclude() {
  if (lock_.try_lock()) {
    measure_now(enough());
    lock_.unlock();
  }
  return highest_.sums.rss != 0 ? &highest_ : nullptr;
}

bool Peak::measure(snug_memory& memory) {
  const LockGuard guard(lock_);
  const bool told = attribute_memory(now_, sizes_, has_forked_.load(kRelaxed));
  memory = told ? now_.sums : snug_memory{};
  return told;
}

void Peak::after_fork_in_child() {
  ::new (InPlace{&lock_}) Lock;  // another thread may have held it
  looks_ = 0;
  highest_ = {};
  if (is_watched()) next_look_.store(0, kRelaxed);
}

}  // namespace snug
