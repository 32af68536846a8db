#include "realtime/real_time_parts.h"

#include <errno.h>

#include "base/algorithm.h"
#include "base/in_place.h"
#include "os/process.h"

namespace snug {

SNUG_INITIAL_EXEC constinit thread_local ThreadPart* own_part = nullptr;

int RealTimeParts::make(size_t bytes) {
  if (bytes < kLeastBytes || bytes > PTRDIFF_MAX) return EINVAL;
  if (is_made()) return EALREADY;
  const unsigned log = max(log2_floor(kLeastGranule), log2_floor((bytes - 1) / kGranules) + 1);
  const size_t length = round_up(bytes, size_t{1} << log);
  if (!footprint_.take(length)) return ENOMEM;
  const RealTimeMemory memory = map_real_time(length);
  if (memory.start == nullptr) {
    footprint_.give(length);
    return ENOMEM;
  }
  const uintptr_t secret = os::random_seed();
  const LockGuard guard(lock_);
  if (is_made()) {
    unmap_real_time(memory);
    footprint_.give(length);
    return EALREADY;
  }
  memory_ = memory;
  secret_ = secret;
  granule_log_ = log;
  start_.store(address_of(memory_.start), kRelaxed);
  bytes_.store(memory_.bytes, kRelease);
  return 0;
}

int RealTimeParts::enter(size_t bytes) {
  if (own_part != nullptr) return EALREADY;
  const LockGuard guard(lock_);
  if (!is_made()) return EINVAL;
  drop_left();
  if (bytes == 0) bytes = max(memory_.bytes / kUsualParts, granule());
  Place* place = nullptr;
  if (bytes <= memory_.bytes) {
    const size_t count = round_up(bytes, granule()) >> granule_log_;
    place = new_part(count);
    if (place == nullptr) place = left_part(count);
  }
  if (place == nullptr) {
    ++threads_refused_;
    return ENOMEM;
  }
  place->state = State::kTaken;
  own_part = place->part;
  return 0;
}

void RealTimeParts::leave() {
  const LockGuard guard(lock_);
  for (Place& place : places_) {
    if (place.part != own_part) continue;
    place.state = State::kLeft;
    drop_if_empty(place);
  }
  own_part = nullptr;
}

bool RealTimeParts::lies_free(size_t first, size_t count) const {
  for (size_t g = first; g != first + count; ++g)
    if (granules_[g].load(kRelaxed) != nullptr) return false;
  return true;
}

// A part's blocks come to other threads behind the stores of it.
void RealTimeParts::lead(const Place& place, ThreadPart* part) {
  for (size_t g = place.first; g != place.first + place.count; ++g) granules_[g].store(part, kRelease);
}

// The first free granules that suffice.
RealTimeParts::Place* RealTimeParts::new_part(size_t count) {
  Place* place = places_;
  while (place != places_ + kMostParts && place->state != State::kNone) ++place;
  if (place == places_ + kMostParts) return nullptr;
  const size_t last = memory_.bytes >> granule_log_;
  for (size_t first = 0; first + count <= last; ++first) {
    if (!lies_free(first, count)) continue;
    void* const start = at<void>(address_of(memory_.start) + (first << granule_log_));
    place->first = first;
    place->count = count;
    place->part = ::new (InPlace{start}) ThreadPart(count << granule_log_, secret_);
    lead(*place, place->part);
    return place;
  }
  return nullptr;
}

// The shortest part that another thread has left, with its blocks.
RealTimeParts::Place* RealTimeParts::left_part(size_t count) {
  Place* shortest = nullptr;
  for (Place& place : places_)
    if (place.state == State::kLeft && place.count >= count && (shortest == nullptr || place.count < shortest->count))
      shortest = &place;
  return shortest;
}

void RealTimeParts::drop_if_empty(Place& place) {
  place.part->collect_all();
  if (!place.part->is_empty()) return;
  lead(place, nullptr);
  refusals_ += place.part->refusals();
  place.part->~ThreadPart();
  place = {};
}

void RealTimeParts::drop_left() {
  for (Place& place : places_)
    if (place.state == State::kLeft) drop_if_empty(place);
}

void RealTimeParts::lose_others() {
  lock_.assume_held();
  for (Place& place : places_) {
    if (place.state == State::kTaken && place.part != own_part) place.state = State::kLost;
    if (place.state == State::kTaken || place.state == State::kLeft) place.part->cut_pending();
  }
}

RealTimeFigures RealTimeParts::figures() {
  const LockGuard guard(lock_);
  drop_left();
  RealTimeFigures figures{.bytes = memory_.bytes, .locked = memory_.locked};
  figures.refusals = refusals_;
  figures.threads_refused = threads_refused_;
  for (const Place& place : places_) {
    if (place.state == State::kNone) continue;
    ++figures.parts;
    figures.threads += place.state == State::kTaken ? 1 : 0;
    figures.bytes_in_parts += place.count << granule_log_;
    figures.refusals += place.part->refusals();
  }
  return figures;
}

const char* RealTimeParts::check(bool all) {
  const LockGuard guard(lock_);
  size_t led = 0;
  for (const Place& place : places_) {
    if (place.state == State::kNone) continue;
    for (size_t g = place.first; g != place.first + place.count; ++g, ++led)
      if (granules_[g].load(kRelaxed) != place.part) return "a granule of a real-time part leads elsewhere";
    const bool is_at_rest = place.part == own_part || place.state == State::kLeft || all;
    if (place.state == State::kLost || !is_at_rest) continue;
    if (const char* const broken = place.part->check(); broken != nullptr) return broken;
  }
  for (const Atomic<ThreadPart*>& granule : granules_) led -= granule.load(kRelaxed) != nullptr ? 1 : 0;
  return led == 0 ? nullptr : "a granule leads to a real-time part that is gone";
}

}  // namespace snug
