#include "span/huge_page_gauge.h"

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/units.h"

namespace snug {

bool HugePageGauge::pauses(uint32_t now) const {
  const uint32_t pause = pause_.load(kRelaxed);
  return pause != 0 && now - paused_at_.load(kRelaxed) < pause;
}

void HugePageGauge::note_huge(uint64_t nanoseconds) {
  if (nanoseconds < kNoHugePage) return;
  const bool cheap = nanoseconds < compared_;
  const bool was_slow = was_slow_.exchange(!cheap, kRelaxed);
  if (!cheap && !was_slow) return;
  price_.store(cheap ? 0 : nanoseconds, kRelaxed);
  if (cheap) pause_.store(0, kRelaxed);
}

void HugePageGauge::note_small(uint64_t nanoseconds, size_t bytes, uint32_t now) {
  const uint64_t price = price_.exchange(0, kRelaxed);
  if (price == 0 || nanoseconds == 0) return;  // another thread has compared, or the clock gave no time
  const bool dear = price >= kMuchCheaper * nanoseconds * kChunkSize / bytes;
  uint32_t pause = pause_.load(kRelaxed);
  // A huge page that was being touched as the pause began says nothing about its end.
  if (!pauses(now)) pause = clamp(2 * pause, kShortestPause, kLongestPause);
  paused_at_.store(now, kRelaxed);
  pause_.store(dear ? pause : 0, kRelaxed);
}

}  // namespace snug
