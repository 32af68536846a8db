#include "span/mapping_store.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/pair.h"
#include "os/clock.h"
#include "os/memory.h"

namespace snug {

void* MappingStore::allocate(const LargeRequest& request) {
  const size_t usable = round_up(request.size, os::page_size());
  if (usable < request.size || usable > PTRDIFF_MAX) return nullptr;
  void* start = nullptr;
  size_t to_clear = 0;
  {
    const GateGuard guard(lock_, in_flight_);
    if (!promise_place()) return nullptr;
    MappedBlock* block = take_kept(usable, request);
    const bool may_be = hold(block, usable);
    if (may_be && block == nullptr) {
      block = map_block(request, usable);
      if (block == nullptr) let_go(block, usable);
    } else if (!may_be && block != nullptr) {
      keep(block);
    }
    if (!may_be || block == nullptr) {
      index_.withdraw_promise();
      return nullptr;
    }
    if (request.will_grow && usable >= kGrown && !block->is_huge) {
      block->is_huge = true;
      const UnlockedScope unlocked(lock_, in_flight_);
      os::prefer_huge_pages(at<void>(block->start), block->writable);
    }
    if (request.zeroed) to_clear = min(block->written, usable);
    start = hand_out(block, usable);
  }
  if (to_clear > kMostInRun && os::purge(start, to_clear)) to_clear = 0;
  memset(start, 0, to_clear);
  return start;
}

// Promises a place in the index for one more block. False if the OS refuses memory. The caller holds the lock, here and
// in the private functions below; it is dropped during system calls.
bool MappingStore::promise_place() {
  while (!index_.promise()) {
    LargeIndex::Table table = index_.longer();
    {
      const UnlockedScope unlocked(lock_, in_flight_);
      table.slots = static_cast<LargeIndex::Slot*>(arena_.map(table.bytes()));
    }
    if (table.slots == nullptr) return index_.promise_last();
    const LargeIndex::Table unused = index_.move_to(table);
    if (unused.slots == nullptr) continue;
    const UnlockedScope unlocked(lock_, in_flight_);
    // A reader may be in one that was in use: its addresses stay.
    if (unused.slots == table.slots)
      arena_.release(unused.slots, unused.bytes());
    else
      os::purge(unused.slots, unused.bytes());
  }
  return true;
}

// A new mapping, in neither cache nor index. Null if the OS refuses, or at the bound.
MappedBlock* MappingStore::map_block(const LargeRequest& request, size_t usable) {
  if (request.will_grow ? !may_have_room() : mappings_ >= kMostMappings) return nullptr;
  MappedBlock* block = records_.make();
  if (block == nullptr) return nullptr;
  ++mappings_;
  bool is_made = false;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    const bool has_room = request.will_grow && request.alignment <= os::page_size();
    is_made = has_room ? block->make_to_grow(usable) : block->make(usable, request.alignment);
  }
  if (!is_made) {
    --mappings_;
    records_.recycle(block);
    return nullptr;
  }
  bytes_mapped_ += block->mapped;
  return block;
}

// Makes the block live. Its place in the index is promised.
void* MappingStore::hand_out(MappedBlock* block, size_t usable) {
  block->usable = usable;
  block->was_tail = false;
  write_up_to(block, usable);
  bytes_usable_ += usable;
  index_.insert(block);
  if (!keeps_unused(block->written, block->written - usable)) keep(block);
  bounds_.summon();
  return at<void>(block->start);
}

// The block freed last does not count against the budget: a program that allocates and frees one block again and again
// gets it back each time.
bool MappingStore::keeps_too_much() const {
  if (oldest_kept() == nullptr) return false;
  const size_t spared = cache_.empty() ? 0 : cache_.back()->kept();
  return keeping_.is_too_much(bytes_kept_.get(), spared, {bytes_usable_});
}

// How much of a block of that length would be written for the first time; of no block, all.
size_t MappingStore::unwritten(const MappedBlock* block, size_t usable) {
  return usable - min(usable, block == nullptr ? 0 : block->written);
}

// Counts that as held; false if the footprint's limit forbids it.
bool MappingStore::hold(const MappedBlock* block, size_t usable) { return footprint_.take(unwritten(block, usable)); }

// It does not come to that.
void MappingStore::let_go(const MappedBlock* block, size_t usable) { footprint_.give(unwritten(block, usable)); }

// The OS has to back what is written for the first time. If as much was purged before, that counts as a refault, and so
// much more is kept from now on. It is held already.
void MappingStore::write_up_to(MappedBlock* block, size_t usable) {
  if (usable <= block->written) return;
  const size_t more = usable - block->written;
  written_.store(bytes_grown() + more, kRelaxed);
  block->written = usable;
  keeping_.took(more, {bytes_usable_});
}

// Takes out of the cache the kept mapping of which the written length is nearest to the length asked for; null if none
// fits.
MappedBlock* MappingStore::take_kept(size_t bytes, const LargeRequest& request) {
  const auto misfit = [bytes](const MappedBlock& block) {
    return block.written > bytes ? block.written - bytes : bytes - block.written;
  };
  MappedBlock* best = nullptr;
  size_t looks = kLooksAtATime;
  for (MappedBlock* block = cache_.back(); block != nullptr && looks != 0; block = CacheList::prev(block), --looks) {
    if (block->writable < bytes || !is_aligned(block->start, request.alignment)) continue;
    if (best == nullptr || misfit(*block) < misfit(*best)) best = block;
  }
  if (best != nullptr) keep_no_longer(best);
  return best;
}

LargeFree MappingStore::free(void* start) {
  {
    const GateGuard guard(lock_, in_flight_);
    MappedBlock* block = index_.find(address_of(start));
    if (block == nullptr) return reason_unknown(address_of(start));
    index_.erase(block);
    keeping_.note_use(bytes_usable_);
    bytes_usable_ -= block->usable;
    keep_no_longer(block);
    block->usable = 0;
    keep(block);
    if (!keeps_too_much()) return LargeFree::kFreed;
  }
  give_back_excess();
  return LargeFree::kFreed;
}

// What is wrong with an address that is not the start of a live block. Slow, but the process ends after one report.
LargeFree MappingStore::reason_unknown(uintptr_t start) {
  LargeFree reason =
      find_value(gone_, end_of(gone_), start) != end_of(gone_) ? LargeFree::kAlreadyFree : LargeFree::kUnknown;
  for (MappedBlock* kept = cache_.front(); kept != nullptr; kept = CacheList::next(kept))
    if (kept->start == start) reason = LargeFree::kAlreadyFree;
  return find_around(start) != 0 ? LargeFree::kInside : reason;
}

// The start of the live block that the address lies in, 0 if there is none.
uintptr_t MappingStore::find_around(uintptr_t address) const {
  uintptr_t found = 0;
  index_.for_each([&](const MappedBlock& block) {
    if (address - block.start < block.usable) found = block.start;
  });
  return found;
}

void* MappingStore::block_around(const void* address) {
  LockGuard guard(lock_);
  return at<void>(find_around(address_of(address)));
}

// The oldest of the free blocks and the tails; null if nothing is kept.
MappedBlock* MappingStore::oldest_kept() const {
  MappedBlock* const block = cache_.front();
  MappedBlock* const tail = tails_.front();
  if (block == nullptr || tail == nullptr) return block != nullptr ? block : tail;
  return static_cast<int32_t>(tail->freed_at - block->freed_at) <= 0 ? tail : block;
}

// The block is not kept.
void MappingStore::keep(MappedBlock* block) {
  // While nothing was kept, growth of others called for no purge. But part of what is in transit may come back.
  if (oldest_kept() == nullptr && bytes_in_transit_ == 0) forgive(grown_.load(kRelaxed));
  block->freed_at = os::milliseconds();
  list_of(*block).push_back(block);
  count_kept(block);
}

// Called after each change of what is kept.
void MappingStore::note_oldest() {
  const MappedBlock* const block = oldest_kept();
  const uint64_t oldest = block == nullptr ? kNoneKept : block->freed_at;
  // Every thread reads it: written only where it changes.
  if (oldest != oldest_.load(kRelaxed)) oldest_.store(oldest, kRelaxed);
}

// Called when the block was put into its list.
void MappingStore::count_kept(MappedBlock* block) {
  block->is_kept = true;
  bytes_kept_.add(block->kept());
  note_oldest();
  bounds_.notify();
}

void MappingStore::keep_no_longer(MappedBlock* block) {
  if (!block->is_kept) return;
  list_of(*block).remove(block);
  note_oldest();
  bytes_kept_.subtract(block->kept());
  block->is_kept = false;
}

// The block is the caller's, and only the caller changes its length.
size_t MappingStore::usable_size(const void* start) SNUG_UNPROVED {
  if (const Optional<MappedBlock*> known = index_.find_unlocked(address_of(start)))
    return *known == nullptr ? 0 : (*known)->usable;
  LockGuard guard(lock_);
  const MappedBlock* block = index_.find(address_of(start));
  return block == nullptr ? 0 : block->usable;
}

size_t MappingStore::written(const void* start) {
  LockGuard guard(lock_);
  const MappedBlock* block = index_.find(address_of(start));
  return block == nullptr ? 0 : block->written;
}

bool MappingStore::ages() {
  LockGuard guard(lock_);
  return oldest_kept() != nullptr;
}

LargeStatistics MappingStore::statistics() {
  LockGuard guard(lock_);
  return {index_.size() + blocks_detached_,
          bytes_usable_,
          bytes_mapped_,
          bytes_kept_.get(),
          index_.bytes(),
          bytes_released_};
}

// First the blocks of the index, then those of the cache.
size_t MappingStore::copy_extents(size_t* place, LargeExtent* extents, size_t most) {
  LockGuard guard(lock_);
  size_t count = 0;
  const LargeIndex::Table table = index_.table();
  const auto add = [&](const MappedBlock& block) { extents[count++] = {block.start, block.usable, block.writable}; };
  for (; *place < table.capacity && count != most; ++*place)
    if (table.slots[*place].start.load(kRelaxed) != 0) add(*table.slots[*place].block.load(kRelaxed));
  size_t passed = table.capacity;
  for (MappedBlock* block = cache_.front(); block != nullptr && count != most; block = CacheList::next(block)) {
    if (passed++ < *place) continue;
    ++*place;
    add(*block);
  }
  return count;
}

Pair<uintptr_t, uintptr_t> MappingStore::index_range() {
  LockGuard guard(lock_);
  const uintptr_t start = address_of(index_.table().slots);
  return {start, start + index_.bytes()};
}

const char* MappingStore::check() {
  LockGuard guard(lock_);
  size_t usable = 0;
  size_t mapped = 0;
  size_t kept = 0;
  size_t written = 0;
  bool sound = true;
  index_.for_each([&](const MappedBlock& block) {
    lock_.assume_held();
    usable += block.usable;
    mapped += block.mapped;
    written += block.written;
    sound = sound && block.usable <= block.written && block.written <= block.writable &&
            block.writable <= block.mapped && block.is_live() && index_.find(block.start) == &block;
  });
  if (!sound) return "mapping store: a live block's lengths are out of order, or the index does not find it";
  for (MappedBlock* block = cache_.front(); block != nullptr; block = CacheList::next(block)) {
    kept += block->kept();
    if (!block->is_kept) return "mapping store: what the cache holds does not count as kept";
    if (block->is_live()) return "mapping store: the cache holds a live block";
    if (index_.find(block->start) != nullptr) return "mapping store: a free mapping is in the index";
    mapped += block->mapped;
    written += block->written;
  }
  for (MappedBlock* block = tails_.front(); block != nullptr; block = CacheList::next(block)) {
    kept += block->kept();
    if (!block->is_kept || !block->is_live())
      return "mapping store: what has a tail is free, or does not count as kept";
  }
  const bool at_rest = in_flight_.is_empty();
  if (kept != bytes_kept_.get() ||
      (at_rest && (usable != bytes_usable_ || mapped + bytes_in_transit_ != bytes_mapped_)))
    return "mapping store: the byte counts are wrong";
  if (at_rest && written != bytes_grown() - bytes_released_) return "mapping store: the count of held bytes is wrong";
  return nullptr;
}

}  // namespace snug
