// The two ends of an array of free blocks: its thread takes from the top without a lock, and the holder of the heap's
// lock may take the entries at the bottom, or all, from a thread that sleeps.
//
//   the thread    counts top down and reads the base. If top is not below the base, the block is the thread's; else the
//                 thread counts top up again and takes the slow path, under the heap's lock
//   the holder    raises the base to top; waits until the thread's stores must be visible, which stands for a fence in
//                 the thread (thread/cache_revocation.h); reads top again; the entries below both are the holder's
//
// The holder sees in top what the thread has counted down before its fence, and after its fence the thread reads the
// raised base. This is Dekker's algorithm, with waiting in place of the thread's fence, which would cost each malloc
// more than all the rest. A failed attempt of the thread may still be counted in top: then the holder takes one entry
// less, and leaves it where the thread will find it.
//
// Numbers of places are compared by their lower halves, as signed numbers: no array may lie across a multiple of 2^31
// places. Both sides are templates so that tests/schedule can run them in every order of their steps.
#pragma once

#include <stdint.h>

#include "base/algorithm.h"
#include "base/compiler.h"

namespace snug {

// The thread's side. True if the newest entry is the thread's now; it lies at top. Words accesses its array's head.
template <class Words>
SNUG_ALWAYS_INLINE bool take_newest(Words words) {
  words.count_down();
  words.light_fence();
  if (words.top_is_below_base()) [[unlikely]] {
    words.count_up();
    return false;
  }
  return true;
}

// The holder's side. Shuts the thread off from its entries; returns how many they are.
template <class Words>
uint32_t raise_base(Words words) {
  const uint32_t top = words.top_low();
  const auto held = static_cast<int32_t>(top - words.base_low());
  if (held <= 0) return 0;
  words.set_base_low(top);
  return static_cast<uint32_t>(held);
}

// To be called after raise_base() has returned `raised`, not 0, and the wait is over: lowers the base to the end of
// what the holder may take. Returns how many entries below it are the holder's.
template <class Words>
uint32_t settle_base(Words words, uint32_t raised) {
  const uint32_t base = words.base_low();
  const auto gone = static_cast<int32_t>(base - words.top_low());
  if (gone <= 0) return raised;
  const uint32_t kept_out = min(static_cast<uint32_t>(gone), raised);
  words.set_base_low(base - kept_out);
  return raised - kept_out;
}

}  // namespace snug
