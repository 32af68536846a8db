// MappingStore's way back to the OS: what goes, by amount, by age, for the growth of others, and on request. The lock
// is held where the declaration says so; what is on its way is in the thread's hands, and counts as in transit.
#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/clock.h"
#include "os/memory.h"
#include "span/mapping_store.h"

namespace snug {

// Gives the oldest that is kept back to the OS, but for as many bytes from its start as are said to stay: its usable
// ones, or more of a free one; kNotDue for all. That is asked under the lock; of null, if nothing is kept. Once that
// has gone, count(bytes) is called under the lock with what was written of it.
template <class AskWhatStays, class Count>
Purge MappingStore::give_back_oldest(AskWhatStays ask_what_stays, Count count) {
  const GateGuard guard(lock_, in_flight_);
  MappedBlock* oldest = oldest_kept();
  size_t stays = ask_what_stays(oldest);
  if (stays == kNotDue) return Purge::kNotDue;
  if (oldest->is_live()) {
    oldest = split_tail(oldest, oldest->usable);
    if (oldest == nullptr) return Purge::kRefused;
    stays = 0;
  } else {
    keep_no_longer(oldest);
  }
  bytes_in_transit_ += oldest->mapped;
  const size_t going = oldest->written - stays;
  if (!give_back(oldest, stays)) return Purge::kRefused;
  count(going);
  return Purge::kDone;
}

// Gives what lies beyond `length` of the block back to the OS: addresses and room to grow too, or one short block after
// the other could hold a long mapping each; and locked memory can only go so. False if the OS takes nothing.
bool MappingStore::cut(MappedBlock* block, size_t length) {
  void* const end = at<void>(block->start + length);
  if (os::release(end, block->mapped - length))
    block->mapped = block->writable = length;
  else if (!os::purge(end, block->written - length))
    return false;
  block->written = length;
  return true;
}

// What the block had, some of which may be gone.
void MappingStore::count_cut(size_t mapped, size_t written, const MappedBlock& block) {
  bytes_mapped_ -= mapped - block.mapped;
  bytes_released_ += written - block.written;
  footprint_.give(written - block.written);
}

// What lies beyond `usable` of a live block is kept no longer and becomes a mapping of its own, in neither cache nor
// index: the block needs new room to grow.
MappedBlock* MappingStore::split_tail(MappedBlock* block, size_t usable) {
  MappedBlock* tail = records_.make();
  if (tail == nullptr) return nullptr;
  ++mappings_;
  keep_no_longer(block);
  tail->start = block->start + usable;
  tail->writable = block->writable - usable;
  tail->mapped = block->mapped - usable;
  tail->written = block->written - usable;
  tail->was_tail = true;
  tail->is_huge = block->is_huge;
  block->mapped = block->writable = block->written = usable;
  return tail;
}

// Gives back what lies beyond `stays` of a mapping that is in neither cache nor index and counts as in transit. What
// stays is about as old as it was. False if the OS does not take it: then its memory is purged, if it can be, and the
// mapping is kept, young again, so that it is not lost.
bool MappingStore::give_back(MappedBlock* block, size_t stays) {
  const size_t mapped = block->mapped;
  const size_t written = block->written;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    if (!cut(block, stays) && stays != 0) cut(block, stays = 0);
  }
  count_cut(mapped, written, *block);
  const bool is_gone = block->mapped == 0;
  if (is_gone) {
    if (!block->was_tail) remember_gone(block->start);
    --mappings_;
    records_.recycle(block);
  } else if (stays == 0) {
    keep(block);
  } else {
    cache_.push_front(block);
    count_kept(block);
  }
  // Last: while bytes are in transit, keep() must not forgive the growth of others.
  bytes_in_transit_ -= mapped;
  return is_gone || stays != 0;
}

Purge MappingStore::purge_excess() {
  const auto due = [this](const MappedBlock* oldest) {
    lock_.assume_held();
    return oldest == nullptr || !keeps_too_much() ? kNotDue : oldest->usable;
  };
  return give_back_oldest(due, [this](size_t bytes) {
    lock_.assume_held();
    keeping_.gave(bytes, {bytes_usable_});
  });
}

void MappingStore::give_back_excess() {
  while (purge_excess() == Purge::kDone) {
  }
}

size_t MappingStore::purge(size_t pad, size_t most) {
  size_t given = 0;
  // Mappings that could not be given back are purged and count for nothing, but may go now.
  const auto due = [&](const MappedBlock* oldest) {
    if (oldest == nullptr || given >= most || (pad != 0 && bytes_kept_.get() <= pad)) return kNotDue;
    return without_end(*oldest, most - given);
  };
  for (uint32_t refusals = 0; refusals != kMostRefusals;) {
    const Purge outcome = give_back_oldest(due, [&given](size_t bytes) { given += bytes; });
    if (outcome == Purge::kNotDue) break;
    refusals = outcome == Purge::kDone ? 0 : refusals + 1;
  }
  return given;
}

bool MappingStore::trim(size_t pad) {
  const bool any = purge(pad, SIZE_MAX) != 0;
  return (pad == 0 && cut_every_tail()) || any;
}

// Room to grow is no memory, but in a limited address space other mappings may be refused because of it.
bool MappingStore::cut_every_tail() {
  const GateGuard guard(lock_, in_flight_);
  CacheList tails;
  index_.for_each([&](MappedBlock& block) {
    lock_.assume_held();
    if (block.mapped == block.usable) return;
    MappedBlock* tail = split_tail(&block, block.usable);
    if (tail == nullptr) return;
    bytes_in_transit_ += tail->mapped;
    tails.push_back(tail);
  });
  bool any = false;
  while (MappedBlock* tail = tails.pop_front()) {
    const bool holds_memory = tail->written != 0;
    any = (give_back(tail, 0) && holds_memory) || any;
  }
  return any;
}

// How many bytes of the block stay if so many go from its end; of a live one, the usable ones. No huge page is broken.
size_t MappingStore::without_end(const MappedBlock& block, size_t bytes) {
  if (block.is_live()) return block.usable;
  const uintptr_t end = block.start + block.written - min(block.written, bytes);
  return max(block.start, round_down(end, kChunkSize)) - block.start;
}

// The growth of others so far calls for no purge any more.
void MappingStore::forgive(size_t grown) {
  if (grown > made_way_.load(kRelaxed)) made_way_.store(grown, kRelaxed);
}

void MappingStore::purge_for_growth_slowly(size_t grown) {
  const auto owed = [&](const MappedBlock* oldest) {
    lock_.assume_held();
    const size_t made = made_way_.load(kRelaxed);
    if (grown <= made) return kNotDue;
    if (bytes_kept_.get() == 0) {
      // Where only addresses are kept there is nothing to purge.
      if (bytes_in_transit_ == 0) forgive(grown);
      return kNotDue;
    }
    const size_t stays = without_end(*oldest, grown - made);
    // Before it has gone, since other threads ask meanwhile what is owed. What the OS refuses is not tried again.
    made_way_.store(made + oldest->written - stays, kRelaxed);
    return stays;
  };
  while (give_back_oldest(owed, [](size_t) {}) == Purge::kDone) {
  }
  // What was in transit may have come back while other blocks were kept, so that now too much is.
  give_back_excess();
}

bool MappingStore::is_overdue(uint32_t freed_at) const {
  return os::milliseconds() - freed_at > bounds_.purge_after.load(kRelaxed);
}

Purge MappingStore::purge_overdue() {
  const auto due = [this](const MappedBlock* oldest) {
    lock_.assume_held();
    // A huge page only, as the calling thread waits for the system call.
    return oldest == nullptr || !is_overdue(oldest->freed_at) ? kNotDue : without_end(*oldest, kChunkSize);
  };
  return give_back_oldest(due, [this](size_t bytes) {
    lock_.assume_held();
    keeping_.aged(bytes);
  });
}

}  // namespace snug
