// StackDepot: call stacks, each kept once, under a number. All allocations of a loop have the same stack.
//
//   slots   [ 0 | number | 0 | number … ]      by hash, with linear probing
//   words   [ 0 | length | frame … | length | frame … ]      a number is the place of a length
//
// Thread-safe without a lock: a slot is set once, after the words that it leads to were written. Two threads that keep
// the same stack at once may leave one of the copies unused. Never grows beyond kWords; later stacks are not kept.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "checked/call_stack.h"
#include "span/meta_arena.h"

namespace snug {

class StackDepot {
 public:
  // Before any other use. Maps its tables, longer than the arena's stock, by system calls. If there is no memory, no
  // stack is kept.
  void open(MetaArena& arena);

  // The number of the stack's frames, below 2^24; 0 if they are not kept. O(frames) expected.
  uint32_t keep(const CallStack& stack);
  // Reads the frames of such a number; none for 0 or for an invalid number.
  void read(uint32_t number, CallStack* stack) const;

  size_t words_used() const { return next_.load(kRelaxed); }

 private:
  // 16 MiB of addresses, backed where they are used: 123,000 different stacks of 16 frames.
  static constexpr uint32_t kWords = uint32_t{1} << 21;
  static constexpr uint32_t kSlots = uint32_t{1} << 18;
  static constexpr uint32_t kMostProbes = 64;

  static uint64_t hash_of(const CallStack& stack);
  bool holds(uint32_t number, const CallStack& stack) const;
  uint32_t write(const CallStack& stack);

  Atomic<uint32_t>* slots_ = nullptr;
  uintptr_t* words_ = nullptr;
  Atomic<uint32_t> next_{1};
};

}  // namespace snug
