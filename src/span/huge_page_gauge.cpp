#include "span/huge_page_gauge.h"

#include <algorithm>

#include "base/units.h"

namespace snug {

bool HugePageGauge::pauses(uint32_t now) const {
  const uint32_t pause = pause_.load(std::memory_order_relaxed);
  return pause != 0 && now - paused_at_.load(std::memory_order_relaxed) < pause;
}

void HugePageGauge::note_huge(uint64_t nanoseconds) {
  if (nanoseconds < kNoHugePage) return;
  const bool cheap = nanoseconds < compared_;
  const bool was_slow = was_slow_.exchange(!cheap, std::memory_order_relaxed);
  if (!cheap && !was_slow) return;
  price_.store(cheap ? 0 : nanoseconds, std::memory_order_relaxed);
  if (cheap) pause_.store(0, std::memory_order_relaxed);
}

void HugePageGauge::note_small(uint64_t nanoseconds, size_t bytes, uint32_t now) {
  const uint64_t price = price_.exchange(0, std::memory_order_relaxed);
  if (price == 0 || nanoseconds == 0) return;  // another thread has compared, or the clock gave no time
  const bool dear = price >= kMuchCheaper * nanoseconds * kChunkSize / bytes;
  uint32_t pause = pause_.load(std::memory_order_relaxed);
  // A huge page that was being touched as the pause began says nothing about its end.
  if (!pauses(now)) pause = std::clamp(2 * pause, kShortestPause, kLongestPause);
  paused_at_.store(now, std::memory_order_relaxed);
  pause_.store(dear ? pause : 0, std::memory_order_relaxed);
}

}  // namespace snug
