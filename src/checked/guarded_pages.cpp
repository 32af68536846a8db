#include "checked/guarded_pages.h"

#include <stdlib.h>

#include "base/fatal.h"
#include "base/text.h"
#include "os/memory.h"

namespace snug {
namespace {

constexpr size_t kBlockAlignment = 16;
using GuardedLine = Text<320>;

}  // namespace

// Ends and writes the line, and writes the stacks.
void GuardedPages::write(Text<320>& line, const Slot& slot) {
  line.add("; block ").add_hex(slot.block).add(" of ").add(uint64_t{slot.size}).add(" bytes, on a guarded page\n");
  write_line(line.data(), line.size());
  slot.allocated.write("allocated by");
  slot.freed.write("freed by");
}

void GuardedPages::open(MetaArena& arena, uint64_t seed) {
  page_ = os::page_size();
  const size_t bytes = (2 * kSlots + 1) * page_;
  slots_ = static_cast<Slot*>(arena.allocate(kSlots * sizeof(Slot)));
  void* start = slots_ == nullptr ? nullptr : os::reserve(nullptr, bytes);
  if (start == nullptr) return;
  random_ = seed | 1;
  start_ = address_of(start);
  bytes_ = bytes;
}

uintptr_t GuardedPages::page_of(size_t slot) const { return start_ + (2 * slot + 1) * page_; }

// The slot of the page that the address lies on, or next to: for an address between two pages, that of the nearer one.
size_t GuardedPages::slot_near(const void* address) const {
  const size_t offset = address_of(address) - start_;
  const size_t half = (offset + page_ / 2) / page_;
  const size_t slot = half == 0 ? 0 : (half - 1) / 2;
  return slot < kSlots ? slot : kSlots - 1;
}

// Detaches a slot that is not live; kSlots if there is none. Also chooses at which end of the page the block lies.
size_t GuardedPages::take_slot(bool* at_end) {
  LockGuard guard(lock_);
  for (size_t looks = 0; looks != kSlots; ++looks) {
    const size_t slot = next_++ % kSlots;
    State& state = slots_[slot].state;
    if (state != State::kNever && state != State::kFreed) continue;
    state = State::kDetached;
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    *at_end = random_ >> 63 != 0;
    return slot;
  }
  return kSlots;
}

void* GuardedPages::allocate(size_t size, const void* frame) {
  if (size > page_) return nullptr;
  bool at_end = false;
  const size_t slot = take_slot(&at_end);
  if (slot == kSlots) return nullptr;
  const uintptr_t page = page_of(slot);
  const bool is_committed = os::commit(at<void>(page), page_);
  uintptr_t block = page;
  if (at_end) block += page_ - round_up(size == 0 ? 1 : size, kBlockAlignment);
  Slot fresh;
  if (is_committed) fresh = {block, size, State::kLive};
  if (is_committed) fresh.allocated.take(frame);
  LockGuard guard(lock_);
  slots_[slot] = fresh;
  return is_committed ? at<void>(block) : nullptr;
}

// Ends the process unless the block is the live one of the slot.
void GuardedPages::insist_live(const char* call, const void* block, const Slot& slot) const {
  if (slot.state != State::kLive) die(call, block, kAlreadyFree, slot);
  if (slot.block != address_of(block)) die(call, block, kInterior, slot);
}

void GuardedPages::release(void* block, const char* call, const void* frame) {
  const size_t number = slot_near(block);
  Slot slot;
  {
    LockGuard guard(lock_);
    slot = slots_[number];
    if (slot.state == State::kLive && slot.block == address_of(block)) slots_[number].state = State::kDetached;
  }
  insist_live(call, block, slot);
  os::withdraw(at<void>(page_of(number)), page_);
  CallStack freed;
  freed.take(frame);
  LockGuard guard(lock_);
  slots_[number].freed = freed;
  slots_[number].state = State::kFreed;
}

size_t GuardedPages::size_of(const void* block, const char* call) const {
  const Slot& slot = slots_[slot_near(block)];
  insist_live(call, block, slot);
  return slot.size;
}

GuardedPages::View GuardedPages::view(const void* address) {
  LockGuard guard(lock_);
  const Slot& slot = slots_[slot_near(address)];
  if (slot.state != State::kLive && slot.state != State::kFreed) return {};
  return {slot.block, slot.size, slot.state == State::kLive, slot.allocated};
}

void GuardedPages::report(const void* address) const {
  const size_t number = slot_near(address);
  const Slot& slot = slots_[number];
  const uintptr_t page = page_of(number);
  GuardedLine line;
  line.add("snug: access to ").add_hex(address_of(address)).add(": ");
  if (slot.state == State::kFreed)
    line.add("its block is already free");
  else if (address_of(address) < page)
    line.add("before a block's start");
  else
    line.add("beyond a block's end");
  write(line, slot);
}

void GuardedPages::die(const char* call, const void* block, const char* reason, const Slot& slot) const {
  GuardedLine line;
  line.add("snug: ").add(call).add("(").add_hex(address_of(block)).add("): ").add(reason);
  write(line, slot);
  abort();
}

}  // namespace snug
