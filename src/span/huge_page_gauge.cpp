#include "span/huge_page_gauge.h"

#include <algorithm>

#include "base/units.h"
#include "os/memory.h"
#include "os/process.h"
#include "os/thread.h"

namespace snug {
namespace {

// The thread's own time: that a thread had to wait for a processor says nothing about pages.
template <class Touch>
uint64_t nanoseconds_of(Touch touch) {
  const uint64_t before = os::processor_nanoseconds();
  touch();
  return os::processor_nanoseconds() - before;
}

void write_back(char* byte) {
  auto* cell = static_cast<volatile char*>(byte);
  *cell = *cell;
}

}  // namespace

bool HugePageGauge::recommends() const {
  if (compares()) return false;
  const uint32_t pause = pause_.load(std::memory_order_relaxed);
  return pause == 0 || os::milliseconds() - paused_at_.load(std::memory_order_relaxed) >= pause;
}

void HugePageGauge::touch_huge(char* start) {
  note_huge(nanoseconds_of([=] { write_back(start); }));
}

void HugePageGauge::touch_small(char* start, size_t bytes) {
  const uint64_t cost = nanoseconds_of([=] {
    for (size_t at = 0; at < bytes; at += os::page_size()) write_back(start + at);
  });
  note_small(cost * kChunkSize / bytes, os::milliseconds());
}

void HugePageGauge::note_huge(uint64_t nanoseconds) {
  if (nanoseconds < never_dear_)
    pause_.store(0, std::memory_order_relaxed);
  else
    price_.store(nanoseconds, std::memory_order_relaxed);
}

void HugePageGauge::note_small(uint64_t nanoseconds, uint32_t now) {
  const uint64_t price = price_.exchange(0, std::memory_order_relaxed);
  if (price == 0) return;  // another thread has compared
  const uint32_t pause = pause_.load(std::memory_order_relaxed);
  const bool dear = price >= kMuchCheaper * nanoseconds;
  paused_at_.store(now, std::memory_order_relaxed);
  pause_.store(dear ? std::clamp(2 * pause, kShortestPause, kLongestPause) : 0, std::memory_order_relaxed);
}

}  // namespace snug
