// HugePageGauge: what huge pages cost at present, and so whether to ask for more.
//
// A huge page is backed whole at its first touch, in some 100 µs. But the OS may first have to make one by moving what
// lies in its way (compaction), or a hypervisor that has taken free memory back (free page reporting) has to back it
// anew: milliseconds, while the small pages that lie about in used memory cost what they always do. So the stores make
// time first touches (span/first_touch.h) and report here how long they took. A comparison follows the second slow one
// in a row, as after a single one the thread may have waited for a processor: the next memory that has to be new comes
// in small pages and is timed as well. If these are much cheaper, byte for byte, huge pages are dear, and no more are
// asked for during a pause; it doubles if the next huge page is no cheaper, so that measuring takes little time.
//
// Any thread may call, without a lock. The words are relaxed: no other data depends on them, and a wrong answer costs a
// page.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/units.h"

namespace snug {

class alignas(kCacheLine) HugePageGauge {
 public:
  // From so many nanoseconds on a huge page's first touch is compared: ten times what it takes where the OS has one
  // ready.
  static constexpr uint64_t kCompared = 1'000'000;
  // Below so many no 2 MiB can have been cleared: the OS has backed a small page, or another thread touched it first.
  static constexpr uint64_t kNoHugePage = 10'000;
  // How much cheaper small pages must be for huge ones to be dear, in times.
  static constexpr uint64_t kMuchCheaper = 2;
  static constexpr uint32_t kShortestPause = 64;  // milliseconds
  static constexpr uint32_t kLongestPause = 64 * kShortestPause;
  // From so many bytes on a heap, or a block that is made longer, has proved to grow, and may have huge pages: at most
  // a third of what it then has was backed ahead of its use.
  static constexpr size_t kGrown = 2 * kChunkSize;

  // `compared`: nanoseconds from which on a first touch is compared.
  explicit constexpr HugePageGauge(uint64_t compared = kCompared) : compared_(compared) {}

  // False during a pause, and while a comparison is due. `now` is os::milliseconds().
  bool recommends(uint32_t now) const { return !compares() && !pauses(now); }
  // True during a pause: huge pages are dear.
  bool pauses(uint32_t now) const;
  // True while small pages are to be touched, for comparison.
  bool compares() const { return price_.load(kRelaxed) != 0; }

  // What the first touch of a huge page took; 0 says nothing.
  void note_huge(uint64_t nanoseconds);
  // What that of `bytes` in small pages took; 0 ends the comparison without a finding.
  void note_small(uint64_t nanoseconds, size_t bytes, uint32_t now);

 private:
  const uint64_t compared_;
  Atomic<uint64_t> price_{0};  // of the huge page that is to be compared, nanoseconds; 0: none
  Atomic<uint32_t> pause_{0};  // milliseconds; 0: none
  Atomic<uint32_t> paused_at_{0};
  Atomic<bool> was_slow_{false};  // the newest first touch took long
};

}  // namespace snug
