// GuardedPages: a few blocks, chosen by sampling, each on an OS page of its own between two inaccessible ones
// (check:sample). A block begins or ends where its page does, at random, so that an access before it or beyond it
// faults. The page of a freed block is made inaccessible, until all other slots have been used after it.
//
//   | no access | page of slot 0 | no access | page of slot 1 | no access | …
//
//   every slot is live, or withdrawn, or detached by the one thread that makes the system call between the two
//
// Each slot keeps the call stacks that have allocated and freed its block.
//
// A fault on one of these pages is reported by a handler of SIGSEGV (Allocator::watch_faults); then the process ends as
// it would have without.
//
// Thread-safe. No system call happens under the lock, which is a leaf.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/lock.h"
#include "base/pair.h"
#include "base/text.h"
#include "checked/call_stack.h"
#include "span/meta_arena.h"

namespace snug {

class GuardedPages {
 public:
  // Called before any other use. If the OS refuses memory no block is guarded. `seed` seeds the choice of ends.
  void open(MetaArena& arena, uint64_t seed) SNUG_UNPROVED;

  // True if the address is on one of the pages or between them.
  bool contains(const void* address) const { return address_of(address) - start_ < bytes_; }

  // The range of all pages, as [first byte, end).
  Pair<uintptr_t, uintptr_t> range() const { return {start_, start_ + bytes_}; }

  // True once in kRefills calls. Each slow path that hands out a block calls it.
  bool is_due() { return bytes_ != 0 && refills_.fetch_add(1, kRelaxed) % kRefills == kRefills - 1; }
  // A block aligned to 16 bytes, and to each power of two that divides its size; null if it is longer than a page, all
  // slots are live or the OS refuses. `frame` is that of a function near to the program's call (checked/call_stack.h).
  void* allocate(size_t size, const void* frame);

  // For an address that contains() accepts. Ends the process if it is no live block; `call` is named in that report.
  void release(void* block, const char* call, const void* frame);
  // The size that the live block was requested with. Takes no lock: while the block is live, only a call that frees it
  // changes its slot.
  size_t size_of(const void* block, const char* call) const;

  // What the slot of the page has that an address lies on, or next to, which contains() accepts.
  struct View {
    uintptr_t block = 0;  // 0: it has had none, or a thread is changing it
    size_t size = 0;
    bool is_live = false;
    CallStack allocated = {};
  };
  View view(const void* address) SNUG_EXCLUDES(lock_);
  // Reports what is wrong with an access at the address, which contains() accepts.
  void report(const void* address) const;

  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  friend constexpr uint64_t layout_of_records(size_t allocator_bytes);

  enum class State : uint8_t { kNever, kLive, kFreed, kDetached };
  struct Slot {
    uintptr_t block = 0;
    size_t size = 0;
    State state = State::kNever;
    CallStack allocated = {};
    CallStack freed = {};  // of thread 0 until the block is freed
  };
  // 256 pages of 4 KiB: 1 MiB at most, and 2 MiB of addresses.
  static constexpr size_t kSlots = 256;
  static constexpr uint32_t kRefills = 64;

  size_t slot_near(const void* address) const;
  uintptr_t page_of(size_t slot) const;
  size_t take_slot(bool* at_end) SNUG_EXCLUDES(lock_);
  void insist_live(const char* call, const void* block, const Slot& slot) const;
  static void write(Text<320>& line, const Slot& slot);
  [[noreturn]] void die(const char* call, const void* block, const char* reason, const Slot& slot) const;

  uintptr_t start_ = 0;
  size_t bytes_ = 0;
  size_t page_ = 0;
  Slot* slots_ = nullptr;
  Atomic<uint32_t> refills_{0};
  SharedLock lock_;
  uint64_t random_ SNUG_GUARDED_BY(lock_) = 1;
  size_t next_ SNUG_GUARDED_BY(lock_) = 0;  // the slot to try next
};

}  // namespace snug
