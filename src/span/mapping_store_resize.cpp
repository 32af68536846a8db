// MappingStore's blocks of changing length: what realloc does without copying.
#include "base/algorithm.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "os/memory.h"
#include "span/mapping_store.h"

namespace snug {

// The length for a block that realloc makes so long: half of what it may leave unused more, so that most steps of a
// buffer that grows in small ones need no lock. Not for that alone is memory made of room, or a huge page begun.
size_t MappingStore::length_to_grow(const MappedBlock& block, size_t usable) {
  const uintptr_t end = block.start + usable;
  const size_t ahead = round_down(most_unused(usable) / 2, os::page_size());
  const size_t more = min(ahead, round_up(end, kChunkSize) - end);
  return usable > block.writable ? usable + more : min(usable + more, block.writable);
}

void* MappingStore::resize(void* start, size_t size) {
  SNUG_ASSERT(size != 0, "a block of no bytes has no mapping");
  const size_t usable = round_up(size, os::page_size());
  if (usable < size || usable > PTRDIFF_MAX) return nullptr;
  MappedBlock* block = nullptr;
  size_t before = 0;
  {
    const GateGuard guard(lock_, in_flight_);
    block = index_.find(address_of(start));
    if (block == nullptr) return nullptr;
    before = block->usable;
    if (usable > before) {
      if (!lengthen(block, length_to_grow(*block, usable)) && !lengthen(block, usable)) return nullptr;
      start = at<void>(block->start);
    } else {
      if (keeps_unused(before, before - usable)) return start;
      shorten(block, usable);
      if (!keeps_too_much()) return start;
    }
  }
  if (usable <= before) give_back_excess();
  return start;
}

// Keeps the block's tail as a free block is kept, though only the block itself can use it; a tail that was kept already
// becomes longer and stays as old as it was. The lock is dropped during system calls, here and below.
void MappingStore::shorten(MappedBlock* block, size_t usable) {
  keeping_.note_use(bytes_usable_);
  const size_t unused = block->usable - usable;
  bytes_usable_ -= unused;
  block->usable = usable;
  if (block->is_kept)
    bytes_kept_.add(unused);
  else
    keep(block);
}

// Makes a system call about a live block and its room. The calling thread has the block detached meanwhile: no other
// cuts its tail, and if the block moves, another thread may map the old address, and index it, at once.
template <class Act>
void MappingStore::act_detached(MappedBlock* block, Act act) {
  const bool was_kept = block->is_kept;
  keep_no_longer(block);
  index_.take_out(block);
  ++blocks_detached_;
  {
    const UnlockedScope unlocked(lock_, in_flight_);
    act();
  }
  --blocks_detached_;
  index_.insert(block);
  if (was_kept) keep(block);  // as if it had become one now: it nearly served the block
}

bool MappingStore::make_writable(MappedBlock* block, size_t usable) {
  if (block->reaches(usable)) return true;
  const uintptr_t start = block->start;
  const size_t mapped = block->mapped;
  act_detached(block, [block, usable, with_room = may_have_room()] { block->grow(usable, with_room); });
  bytes_mapped_ += block->mapped - mapped;
  if (block->start != start) remember_gone(start);
  return usable <= block->writable;
}

bool MappingStore::lengthen(MappedBlock* block, size_t usable) {
  if (!hold(block, usable)) return false;
  if (!make_writable(block, usable)) {
    let_go(block, usable);
    return false;
  }
  const size_t kept = block->kept();
  bytes_usable_ += usable - block->usable;
  block->usable = usable;
  write_up_to(block, usable);
  if (block->is_kept) bytes_kept_.subtract(kept - block->kept());
  if (block->written == usable) keep_no_longer(block);
  if (usable >= kGrown) advise(block);
  return true;
}

// For a block that grows.
void MappingStore::advise(MappedBlock* block) {
  if (block->is_huge) return;
  block->is_huge = true;
  act_detached(block, [block] { os::prefer_huge_pages(at<void>(block->start), block->writable); });
}

}  // namespace snug
