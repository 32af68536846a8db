// LargeStore's blocks of changing length: what realloc does without copying.
#include <algorithm>

#include "base/bits.h"
#include "base/fatal.h"
#include "os/memory.h"
#include "os/process.h"
#include "os/residency.h"
#include "span/first_touch.h"
#include "span/large_store.h"

namespace snug {
namespace {

// A shrinking block keeps a tail of less than an eighth of it, and less than this.
constexpr size_t kTailKept = size_t{1} << 20;
// Bytes in small pages that a dear huge page is compared with.
constexpr size_t kTouchedToCompare = size_t{64} << 10;
constexpr size_t kMostRoom = size_t{1} << 30;

}  // namespace

size_t LargeStore::with_room(size_t bytes) { return bytes + std::min(bytes, kMostRoom); }

void* LargeStore::resize(void* start, size_t size) {
  SNUG_ASSERT(size != 0, "a block of no bytes has no mapping");
  const size_t usable = round_up(size, os::page_size());
  if (usable < size || usable > PTRDIFF_MAX) return nullptr;
  LargeBlock* block = nullptr;
  size_t written = 0;
  {
    LockGuard guard(lock_);
    block = index_.find(address_of(start));
    if (block == nullptr) return nullptr;
    if (usable <= block->usable) {
      shrink(block, usable);
      return start;
    }
    written = block->written;
    if (!lengthen(block, usable)) return nullptr;
    start = at<void>(block->start);
  }
  if (usable >= kGrownBlock) touch_by_the_clock(*block, written);
  return start;
}

// The lock is held.
void LargeStore::shrink(LargeBlock* block, size_t usable) {
  const size_t tail = block->usable - usable;
  if (tail < std::min(block->usable / 8, kTailKept)) return;
  if (!os::release(at<void>(block->start + usable), block->mapped - usable)) return;
  keep_no_longer(block);
  bytes_usable_ -= tail;
  bytes_mapped_ -= block->mapped - usable;
  block->usable = block->mapped = block->written = usable;
}

// The lock is held, since another thread may map the old address, and index it, as soon as the block has moved.
bool LargeStore::move_with_room(LargeBlock* block, size_t usable) {
  size_t mapped = with_room(usable);
  void* start = os::grow(at<void>(block->start), block->mapped, mapped);
  if (start == nullptr) {
    mapped = usable;
    start = os::grow(at<void>(block->start), block->mapped, mapped);
  }
  if (start == nullptr) return false;
  index_.erase(block);
  keep_no_longer(block);
  bytes_mapped_ += mapped - block->mapped;
  if (block->start != address_of(start)) remember_gone(block->start);
  block->start = address_of(start);
  block->mapped = mapped;
  index_.insert(block);
  return true;
}

// The lock is held.
bool LargeStore::lengthen(LargeBlock* block, size_t usable) {
  if (usable > block->mapped && !move_with_room(block, usable)) return false;
  bytes_usable_ += usable - block->usable;
  block->usable = usable;
  write_up_to(block, usable);
  if (block->kept != 0) grow_into_tail(block);
  if (usable >= kGrownBlock) advise(*block);
  return true;
}

// For a block that grows: huge pages while the gauge recommends them, and none for certain where they are compared or
// have become dear. The lock is held.
void LargeStore::advise(LargeBlock& block) {
  const Paging paging = gauge_.recommends(os::milliseconds()) ? Paging::kHuge : Paging::kSmall;
  if (block.advised == paging) return;
  if (paging == Paging::kHuge)
    os::prefer_huge_pages(at<void>(block.start), block.mapped);
  else if (block.advised || gauge_.compares())
    os::prefer_small_pages(at<void>(block.start), block.mapped);
  else
    return;
  block.advised = paging;
}

// For a block that has grown beyond the first `written` bytes: if their last OS page was written to, touches the huge
// page that begins next, or small ones where a comparison is due. Without the lock, since it may take long; the block
// is its owner's, who waits.
void LargeStore::touch_by_the_clock(const LargeBlock& block, size_t written) {
  // What lies before the next boundary may be backed already.
  const uintptr_t next = round_up(block.start + written, kChunkSize);
  const uintptr_t end = block.start + block.usable;
  if (next >= end) return;
  const char* last = at<char>(block.start + written) - os::page_size();
  if (os::held_pages(last, os::page_size()).value_or(0) == 0) return;
  if (block.advised == Paging::kHuge)
    touch_huge_page(gauge_, at<char>(next));
  else if (gauge_.compares())
    touch_small_pages(gauge_, at<char>(next), std::min<size_t>(end - next, kTouchedToCompare));
}

}  // namespace snug
