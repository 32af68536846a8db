#include "span/large_store.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/bits.h"
#include "os/memory.h"
#include "os/process.h"

namespace snug {
namespace {

// The part of a block, one in so many, beyond which a tail counts as kept.
constexpr size_t kTailIgnored = 4;
// A kept mapping that must read as zeros is cleared up to this size, and purged beyond.
constexpr size_t kClearedByHand = size_t{1} << 20;
// How many kept mappings are looked at for one that fits, newest first.
constexpr size_t kMostLooks = 64;

}  // namespace

void* LargeStore::allocate(const LargeRequest& request) {
  const size_t usable = round_up(request.size, os::page_size());
  if (usable < request.size || usable > PTRDIFF_MAX) return nullptr;
  LargeBlock* block = nullptr;
  void* start = nullptr;
  size_t to_clear = 0;
  {
    LockGuard guard(lock_);
    if (!index_.prepare()) return nullptr;
    block = take_kept(usable, request);
    if (block != nullptr) {
      to_clear = request.zeroed ? std::min(block->written, usable) : 0;
      if (block->advised == Paging::kHuge && usable < kGrownBlock && !request.will_grow) {
        block->advised = Paging::kSmall;
        os::prefer_small_pages(at<void>(block->start), block->mapped);
      }
      start = hand_out(block, usable);
    } else {
      block = records_.make();
      if (block == nullptr) return nullptr;
      passage_.enter();
    }
  }
  if (start != nullptr) {
    if (to_clear > kClearedByHand && os::purge(start, to_clear)) to_clear = 0;
    std::memset(start, 0, to_clear);
    return start;
  }
  if (request.will_grow) {
    block->mapped = with_room(usable);
    start = os::map(block->mapped, request.alignment);
  }
  if (start == nullptr) {
    block->mapped = usable;
    start = os::map(usable, request.alignment);
  }
  LockGuard guard(lock_);
  passage_.leave();
  // Another thread may have used the place that was prepared.
  if (start == nullptr || !index_.prepare()) {
    if (start != nullptr) os::release(start, block->mapped);
    records_.recycle(block);
    return nullptr;
  }
  block->start = address_of(start);
  bytes_mapped_ += block->mapped;
  return hand_out(block, usable);
}

// Makes the block live. The lock is held, the index prepared.
void* LargeStore::hand_out(LargeBlock* block, size_t usable) {
  block->usable = usable;
  write_up_to(block, usable);
  bytes_usable_ += usable;
  index_.insert(block);
  if (const size_t tail = block->written - usable; tail > usable / kTailIgnored) keep(block, tail);
  if (bell_ != nullptr) bell_->summon();
  return at<void>(block->start);
}

// Whoever takes and frees one block again and again keeps it from the first time on.
bool LargeStore::keeps_too_much() const {
  return !cache_.empty() && (bytes_kept_ > retention_.bytes || bytes_kept_ - cache_.back()->kept > allowed_);
}

// What is written for the first time the OS has to back: if as much was given back to it, that is missed, and so much
// more is kept from now on. The lock is held.
void LargeStore::write_up_to(LargeBlock* block, size_t usable) {
  if (usable <= block->written) return;
  const size_t missed = std::min(usable - block->written, given_away_);
  block->written = usable;
  given_away_ -= missed;
  allowed_ = std::min(allowed_ + missed, retention_.bytes);
}

// The kept mapping of which as much is written as is asked for, as nearly as can be; out of the cache, in nothing.
LargeBlock* LargeStore::take_kept(size_t bytes, const LargeRequest& request) {
  const auto misfit = [bytes](const LargeBlock& block) {
    return block.written > bytes ? block.written - bytes : bytes - block.written;
  };
  LargeBlock* best = nullptr;
  size_t looks = kMostLooks;
  for (LargeBlock* block = cache_.back(); block != nullptr && looks != 0; block = CacheList::prev(block), --looks) {
    if (block->is_live() || block->mapped < bytes || !is_aligned(block->start, request.alignment)) continue;
    if (best == nullptr || misfit(*block) < misfit(*best)) best = block;
  }
  if (best != nullptr) keep_no_longer(best);
  return best;
}

LargeFree LargeStore::free(void* start) {
  {
    LockGuard guard(lock_);
    LargeBlock* block = index_.find(address_of(start));
    if (block == nullptr) return reason_unknown(address_of(start));
    index_.erase(block);
    bytes_usable_ -= block->usable;
    keep_no_longer(block);
    block->usable = 0;
    keep(block, block->written);
    if (!keeps_too_much()) return LargeFree::kFreed;
  }
  give_back_excess();
  return LargeFree::kFreed;
}

void LargeStore::give_back_excess() {
  const auto due = [this](const LargeBlock* oldest) {
    if (oldest == nullptr || !keeps_too_much()) return kNotDue;
    given_away_ = std::min(given_away_ + oldest->kept, retention_.bytes);
    return oldest->usable;
  };
  while (give_back_oldest(due) == Purge::kDone) {
  }
}

// What is wrong with an address that is not the start of a live block. Slow: only said once.
LargeFree LargeStore::reason_unknown(uintptr_t start) {
  LargeFree reason =
      std::find(gone_, std::end(gone_), start) != std::end(gone_) ? LargeFree::kAlreadyFree : LargeFree::kUnknown;
  for (LargeBlock* kept = cache_.front(); kept != nullptr; kept = CacheList::next(kept))
    if (kept->start == start) reason = LargeFree::kAlreadyFree;
  index_.for_each([&](const LargeBlock& block) {
    if (start - block.start < block.usable) reason = LargeFree::kInside;
  });
  return reason;
}

// The lock is held, and the block is not in the cache.
void LargeStore::keep(LargeBlock* block, size_t bytes) {
  // While nothing was kept nothing was owed. But of what is on its way to the OS a part may come back.
  if (cache_.empty() && bytes_in_transit_ == 0) forgive(grown_.load(std::memory_order_relaxed));
  block->freed_at = os::milliseconds();
  cache_.push_back(block);
  count_kept(block, bytes);
}

// After each change of the cache. The lock is held.
void LargeStore::note_oldest() {
  const uint64_t oldest = cache_.empty() ? kNoneKept : cache_.front()->freed_at;
  // Every thread reads it: written only where it changes.
  if (oldest != oldest_.load(std::memory_order_relaxed)) oldest_.store(oldest, std::memory_order_relaxed);
}

// The block has come into the cache. The lock is held.
void LargeStore::count_kept(LargeBlock* block, size_t bytes) {
  block->kept = bytes;
  bytes_kept_ += bytes;
  note_oldest();
  if (bell_ != nullptr) bell_->ring();
}

// The lock is held. A live block without a tail is not in the cache.
void LargeStore::keep_no_longer(LargeBlock* block) {
  if (block->is_live() && block->kept == 0) return;
  cache_.remove(block);
  note_oldest();
  bytes_kept_ -= block->kept;
  block->kept = 0;
}

// The block has grown into its tail.
void LargeStore::grow_into_tail(LargeBlock* block) {
  const size_t tail = block->written - block->usable;
  if (tail == 0) return keep_no_longer(block);
  bytes_kept_ -= block->kept - tail;
  block->kept = tail;
}

// Gives the oldest that is kept back to the OS, but for as many bytes from its start as are said to stay: its usable
// ones, or more of a free one; kNotDue for all. That is asked under the lock; of null, if nothing is kept.
template <class AskWhatStays>
Purge LargeStore::give_back_oldest(AskWhatStays ask_what_stays) {
  LargeBlock* oldest = nullptr;
  size_t stays = 0;
  {
    LockGuard guard(lock_);
    oldest = cache_.front();
    stays = ask_what_stays(oldest);
    if (stays == kNotDue) return Purge::kNotDue;
    keep_no_longer(oldest);
    // Its owner may want the tail any moment: not without the lock.
    if (oldest->is_live()) return cut_tail(oldest) ? Purge::kDone : Purge::kRefused;
    bytes_in_transit_ += oldest->mapped;
    passage_.enter();
  }
  return give_back(oldest, stays) ? Purge::kDone : Purge::kRefused;
}

// Gives what lies beyond `length` of the block back to the OS: addresses and room to grow too, or one short block after
// the other could hold a long mapping each; and locked memory can only go so. False if the OS takes nothing.
bool LargeStore::cut(LargeBlock* block, size_t length) {
  void* const end = at<void>(block->start + length);
  if (os::release(end, block->mapped - length))
    block->mapped = length;
  else if (!os::purge(end, block->written - length))
    return false;
  block->written = length;
  return true;
}

// What the block had, some of which may be gone. The lock is held.
void LargeStore::count_cut(size_t mapped, size_t written, const LargeBlock& block) {
  bytes_mapped_ -= mapped - block.mapped;
  bytes_released_ += written - block.written;
}

// Its owner has to ask for the room anew. The lock is held.
bool LargeStore::cut_tail(LargeBlock* block) {
  const size_t mapped = block->mapped;
  const size_t written = block->written;
  if (!cut(block, block->usable)) return false;
  count_cut(mapped, written, *block);
  return true;
}

// Of a mapping that is in neither cache nor index, without the lock. What stays is about as old as it was. False if the
// OS would not take what it was to: then its memory is purged, if it can be, and the mapping kept, young again, so that
// it is not lost.
bool LargeStore::give_back(LargeBlock* block, size_t stays) {
  const size_t mapped = block->mapped;
  const size_t written = block->written;
  if (!cut(block, stays) && stays != 0) cut(block, stays = 0);
  LockGuard guard(lock_);
  passage_.leave();
  bytes_in_transit_ -= mapped;
  count_cut(mapped, written, *block);
  if (block->mapped == 0) {
    remember_gone(block->start);
    records_.recycle(block);
    return true;
  }
  if (stays == 0) {
    keep(block, block->written);
    return false;
  }
  cache_.push_front(block);
  count_kept(block, block->written);
  return true;
}

size_t LargeStore::usable_size(const void* start) {
  LockGuard guard(lock_);
  const LargeBlock* block = index_.find(address_of(start));
  return block == nullptr ? 0 : block->usable;
}

bool LargeStore::trim(size_t pad) {
  // Mappings that could not be given back are purged and count for nothing, but may go now.
  const auto due = [&](const LargeBlock* oldest) {
    return oldest != nullptr && (pad == 0 || bytes_kept_ > pad) ? oldest->usable : kNotDue;
  };
  bool any = false;
  while (give_back_oldest(due) == Purge::kDone) any = true;
  return (pad == 0 && cut_every_tail()) || any;
}

// Room to grow is no memory, but where the address space is limited it may be what others are refused for.
bool LargeStore::cut_every_tail() {
  LockGuard guard(lock_);
  const size_t released_before = bytes_released_;
  index_.for_each([this](LargeBlock& block) {
    if (block.mapped == block.usable) return;
    keep_no_longer(&block);
    cut_tail(&block);
  });
  return bytes_released_ != released_before;
}

// What stays of the block without so many bytes at its end, or all it has too much if it is live. No huge page is
// broken.
size_t LargeStore::without_end(const LargeBlock& block, size_t bytes) {
  if (block.is_live()) return block.usable;
  const uintptr_t end = block.start + block.written - std::min(block.written, bytes);
  return std::max(block.start, round_down(end, kChunkSize)) - block.start;
}

// What others have grown by so far is not owed any more. The lock is held.
void LargeStore::forgive(size_t grown) {
  if (grown > made_way_.load(std::memory_order_relaxed)) made_way_.store(grown, std::memory_order_relaxed);
}

void LargeStore::make_way_slowly(size_t grown) {
  const auto owed = [&](const LargeBlock* oldest) {
    const size_t made = made_way_.load(std::memory_order_relaxed);
    if (grown <= made) return kNotDue;
    if (bytes_kept_ == 0) {
      // What has addresses only owes nothing.
      if (bytes_in_transit_ == 0) forgive(grown);
      return kNotDue;
    }
    const size_t stays = without_end(*oldest, grown - made);
    made_way_.store(made + oldest->written - stays, std::memory_order_relaxed);
    return stays;
  };
  while (give_back_oldest(owed) == Purge::kDone) {
  }
  // What was on its way may have come back to more than there was meanwhile.
  give_back_excess();
}

bool LargeStore::is_overdue(uint32_t freed_at) const { return os::milliseconds() - freed_at > retention_.milliseconds; }

Purge LargeStore::purge_overdue() {
  return give_back_oldest([this](const LargeBlock* oldest) {
    if (oldest == nullptr || !is_overdue(oldest->freed_at)) return kNotDue;
    // A part, as whoever comes by waits for it.
    const size_t stays = without_end(*oldest, kMostByAge);
    // Nobody has missed it: it need not have been kept.
    allowed_ = std::max(allowed_ - std::min(allowed_, oldest->written - stays), kLeastAllowed);
    return stays;
  });
}

bool LargeStore::ages() {
  LockGuard guard(lock_);
  return !cache_.empty();
}

LargeStatistics LargeStore::statistics() {
  LockGuard guard(lock_);
  return {index_.size(), bytes_usable_, bytes_mapped_, bytes_kept_, index_.bytes(), bytes_released_};
}

const char* LargeStore::check() {
  LockGuard guard(lock_);
  size_t usable = 0;
  size_t mapped = 0;
  size_t kept = 0;
  bool sound = true;
  index_.for_each([&](const LargeBlock& block) {
    usable += block.usable;
    mapped += block.mapped;
    sound = sound && block.usable <= block.written && block.written <= block.mapped && block.is_live() &&
            index_.find(block.start) == &block;
    if (block.kept != 0) sound = sound && block.kept == block.written - block.usable;
  });
  if (!sound) return "large store: a live block's lengths are out of order, or the index does not find it";
  for (LargeBlock* block = cache_.front(); block != nullptr; block = CacheList::next(block)) {
    kept += block->kept;
    if (block->is_live()) continue;
    if (index_.find(block->start) != nullptr) return "large store: a free mapping is in the index";
    if (block->kept != block->written) return "large store: what was written of a free mapping is not kept";
    mapped += block->mapped;
  }
  if (usable != bytes_usable_ || mapped + bytes_in_transit_ != bytes_mapped_ || kept != bytes_kept_)
    return "large store: the byte counts are wrong";
  return nullptr;
}

}  // namespace snug
