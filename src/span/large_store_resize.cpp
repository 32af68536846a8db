// LargeStore's blocks of changing length: what realloc does without copying.
#include <algorithm>

#include "base/bits.h"
#include "base/fatal.h"
#include "os/memory.h"
#include "span/large_store.h"

namespace snug {
namespace {

// A shrinking block keeps a tail of less than an eighth of it, and less than this.
constexpr size_t kTailKept = size_t{1} << 20;
// Bytes in small pages that a dear huge page is compared with.
constexpr size_t kCompared = size_t{64} << 10;

}  // namespace

void* LargeStore::resize(void* start, size_t size) {
  SNUG_ASSERT(size != 0, "a block of no bytes has no mapping");
  const size_t usable = round_up(size, os::page_size());
  if (usable < size || usable > PTRDIFF_MAX) return nullptr;
  LargeBlock* block = nullptr;
  char* huge_page = nullptr;
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
    if (usable > block->mapped && !move_with_room(block, usable)) return nullptr;
    bytes_usable_ += usable - block->usable;
    block->usable = usable;
    write_up_to(block, usable);
    if (block->kept != 0) shorten_tail(block);
    start = at<void>(block->start);
    huge_page = ask_for_huge_pages(*block, written);
  }
  // Without the lock: it may take long, and the block is its owner's, who waits.
  if (huge_page != nullptr) {
    gauge_.touch_huge(huge_page);
    if (gauge_.compares()) settle_for_small_pages(*block);
  } else if (gauge_.compares() && usable >= kGrownBlock && usable > written) {
    gauge_.touch_small(static_cast<char*>(start) + written, std::min(usable - written, kCompared));
  }
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

// For a block that has grown, of which `written` bytes may be backed already. Returns the first byte of the next huge
// page if the block has reached it, else null. The lock is held.
char* LargeStore::ask_for_huge_pages(LargeBlock& block, size_t written) {
  if (block.usable < kGrownBlock) return nullptr;
  if (block.paging == Paging::kSmall) {
    if (!gauge_.recommends() || !os::prefer_huge_pages(at<void>(block.start), block.mapped)) return nullptr;
    block.paging = Paging::kHuge;
  }
  const uintptr_t page = round_up(block.start + written, kChunkSize);
  const bool is_reached = page < block.start + block.usable && page + kChunkSize <= block.start + block.mapped;
  return is_reached ? at<char>(page) : nullptr;
}

void LargeStore::settle_for_small_pages(LargeBlock& block) {
  LockGuard guard(lock_);
  block.paging = Paging::kSmall;
  os::prefer_small_pages(at<void>(block.start), block.mapped);
}

}  // namespace snug
