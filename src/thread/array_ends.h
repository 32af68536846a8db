// The two ends of an array of free blocks: its thread takes from the top without a lock, and whoever holds the heap's
// lock may take what lies at the bottom, or all of it, from a thread that sleeps.
//
//   the thread    counts top down; reads the base; above it, the block is its own. Below, top goes up again, and the
//                 thread takes the slow path, where the heap's lock is
//   the holder    raises the base to top; lets as much time pass as does for a fence in the thread
//                 (thread/cache_reach.h); reads top again; what lies below both is the holder's
//
// What the thread has counted down before its fence is seen in top, and after its fence the thread reads the raised
// base: Dekker's rule, with time for the thread's fence, since it would cost each malloc more
// than all the rest. One attempt of the thread that has failed may still be counted in top: the holder takes an entry
// less then, and leaves it where the thread will find it.
//
// Numbers of places are compared by their lower halves, as signed ones: no array may lie across a multiple of 2^31
// places. Both are templates, which tests/schedule runs in every order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/compiler.h"

namespace snug {

// The thread's side. True if the newest entry is the thread's now, and lies at top; Words are those of its array.
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

// The holder's side. Shuts the thread off from the entries that it has; returns how many.
template <class Words>
uint32_t raise_base(Words words) {
  const uint32_t top = words.top_low();
  const auto held = static_cast<int32_t>(top - words.base_low());
  if (held <= 0) return 0;
  words.set_base_low(top);
  return static_cast<uint32_t>(held);
}

// After raise_base() has returned `raised`, which was not 0, and time enough: lowers the base to what the holder may
// have. Returns how many entries below it are the holder's.
template <class Words>
uint32_t settle_base(Words words, uint32_t raised) {
  const uint32_t base = words.base_low();
  const auto gone = static_cast<int32_t>(base - words.top_low());
  if (gone <= 0) return raised;
  const uint32_t kept_out = std::min(static_cast<uint32_t>(gone), raised);
  words.set_base_low(base - kept_out);
  return raised - kept_out;
}

}  // namespace snug
