// RequestSizes: what blocks of a size class were asked for, by a sample of their addresses.
//
// An address is chosen by its hash alone, so that neither the size of a request nor how long its block lives has to do
// with the choice: of each class's addresses that fall into the same slot the one with the lowest hash is kept, with
// the size that it was asked for last. What is no block at the moment of the question does not count, and the question
// empties its slot: if all blocks of a class went since the question before, fewer samples tell of those that came.
//
//   slot   address / 16 << kSlackBits | block size - size asked for   (0: none)
//
// Thread-safe, without a lock: a slot is one word, and of two threads that write one at once one sample is lost.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "size/class_list.h"
#include "span/meta_arena.h"

namespace snug {

class RequestSizes {
 public:
  // Called before any other use, in a process that is to report; without memory nothing is noted. Takes memory where a
  // class is used alone, 4 KiB for each.
  void open(MetaArena& arena) {
    slots_ = static_cast<Atomic<uint64_t>*>(arena.allocate(kMaxClasses * kSlots * sizeof(uint64_t)));
  }
  // A block of the class that is about to be handed out, for a request of so many bytes. O(1).
  void note(size_t size_class, const void* block, size_t size);
  // The mean request of the class's blocks that are out of their slabs; where none was seen, the middle of its sizes.
  // O(kSlots), with the lock of a heap for each. The caller holds no lock.
  double mean(size_t size_class);

 private:
  static constexpr size_t kSlotBits = 9;
  static constexpr size_t kSlots = size_t{1} << kSlotBits;
  static constexpr unsigned kSlackBits = 20;
  static constexpr uint64_t kMostSlack = (uint64_t{1} << kSlackBits) - 1;

  static uint64_t hash_of(uint64_t number);

  Atomic<uint64_t>* slots_ = nullptr;
};

}  // namespace snug
