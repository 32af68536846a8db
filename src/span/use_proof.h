// UseProof: whether a program writes to what it has taken from end to end, learnt by looks at the newest of it. Only
// then a huge page backs no more than would have been touched.
//
//   proven once enough, one after the other, were found in memory but for a part
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace snug {

class UseProof {
 public:
  bool is_proven() const { return seen_ >= kSeen; }
  // Counts one that could be looked at. False if it is too early: each time that one was not used whole, twice as many
  // go by.
  bool count_down() {
    if (to_come_ == 0) return true;
    --to_come_;
    return false;
  }
  // What was found: so many OS pages of all are in memory, which `count` are made of.
  void note(size_t held, size_t of, size_t count) {
    const bool whole = held >= of - of / kPartUnused;
    seen_ = static_cast<uint16_t>(whole ? seen_ + count : 0);
    between_ = static_cast<uint8_t>(whole ? 0 : std::min(2 * between_ + size_t{1}, kMostBetween));
    to_come_ = between_;
  }

 private:
  static constexpr size_t kSeen = 4;
  // One in so many that may be untouched where all counts as used.
  static constexpr size_t kPartUnused = 6;
  // A look is a few system calls.
  static constexpr size_t kMostBetween = 7;

  uint16_t seen_ = 0;    // found to be used whole, one after the other, up to enough
  uint8_t between_ = 0;  // that go by between two looks
  uint8_t to_come_ = 0;  // of them, those that have not yet
};

}  // namespace snug
