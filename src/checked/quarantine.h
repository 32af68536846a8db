// Quarantine: freed blocks, filled with a pattern, in the order in which they came. They leave it when it holds too
// many bytes; a write to one meanwhile is found then.
//
//   bytes_ == sum of weight over the blocks of the ring <= limit, but for what has yet to be fetched
//
// Thread-safe. The lock is a leaf: nothing is called under it. Blocks are filled and looked at by the caller, outside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/lock.h"
#include "checked/block_note.h"
#include "span/meta_arena.h"

namespace snug {

// A block in the quarantine, and its note, kept here where a stray write does not come by.
struct Rested {
  void* block = nullptr;
  size_t room = 0;
  BlockNote note;
};

class Quarantine {
 public:
  static constexpr size_t kMostAtOnce = 16;

  // Before any other use, with the bytes that it may hold. If there is no memory for its own records, it holds none.
  void open(size_t limit, MetaArena& arena);

  // False for a block so long that too few others would stay beside it.
  bool has_room_for(size_t size) const { return size + kLeastWeight <= limit_ / kLeastShare; }
  // Takes such a block in, and gives up to kMostAtOnce of those that have to leave for it. If they are as many, others
  // may have to as well: fetch() gives them. Amortised O(1).
  size_t admit(Rested rested, Rested* leaving);
  size_t fetch(Rested* leaving);
  // The same, whether they have to or not; none if the lock is held, as by whom a signal handler has interrupted.
  size_t fetch_any(Rested* leaving);

  SharedLock& lock() { return lock_; }  // for a fork

 private:
  static constexpr size_t kLeastShare = 2;
  static constexpr size_t kLeastWeight = sizeof(Rested);  // bytes: bounds how long the ring can be, too
  static size_t weight(const Rested& rested) { return rested.note.size + kLeastWeight; }

  size_t take(size_t limit, Rested* leaving);

  SharedLock lock_;
  Rested* ring_ = nullptr;
  size_t capacity_ = 0;  // a power of two
  size_t first_ = 0;     // counts on; its place is the remainder
  size_t count_ = 0;
  size_t bytes_ = 0;
  size_t limit_ = 0;
};

}  // namespace snug
