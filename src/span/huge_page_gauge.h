// HugePageGauge: what huge pages cost at present, and so whether to ask for more.
//
// A huge page is backed whole at its first touch, in some 100 µs. But the OS may first have to make one by moving what
// lies in its way (compaction), or a hypervisor that has taken free memory back (free page reporting) has to back it
// anew: milliseconds, while the small pages that lie about in used memory cost what they always do. So the first touch
// of each is done here, by the clock. After a dear one the next span is had in small pages and timed as well. If they
// are much cheaper, nobody asks for a while, and for twice as long if the next huge page is no cheaper: little time
// goes into finding out.
//
// Any thread, without a lock; threads that ask at the same moment may all be told yes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace snug {

class HugePageGauge {
 public:
  // What is cheaper is never dear. Small pages, 512 of them, cost 100 to 700 µs where nothing has to be made or backed.
  static constexpr uint64_t kNeverDear = 1'000'000;  // nanoseconds for the first touch of a huge page
  static constexpr uint64_t kMuchCheaper = 2;        // times
  static constexpr uint32_t kShortestPause = 64;     // milliseconds
  static constexpr uint32_t kLongestPause = 4096;

  explicit constexpr HugePageGauge(uint64_t never_dear = kNeverDear) : never_dear_(never_dear) {}

  // False while huge pages are known to be dear, and until a dear one has been compared.
  bool recommends() const;
  // True after a dear touch: small pages are to be had next, and touched.
  bool compares() const { return price_.load(std::memory_order_relaxed) != 0; }

  // Touches the memory at `start`, which is unbacked and nobody else's, leaving what it holds: a byte of a huge page
  // that has just been asked for; or every OS page of memory that is to have small ones.
  void touch_huge(char* start);
  void touch_small(char* start, size_t bytes);

  // What these do once they know the price of a huge page's bytes.
  void note_huge(uint64_t nanoseconds);
  void note_small(uint64_t nanoseconds, uint32_t now);

 private:
  const uint64_t never_dear_;
  std::atomic<uint64_t> price_{0};  // nanoseconds, of a dear touch that has yet to be compared; 0: none
  std::atomic<uint32_t> pause_{0};  // milliseconds; 0: none
  std::atomic<uint32_t> paused_at_{0};
};

}  // namespace snug
