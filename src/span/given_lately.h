// GivenLately: how much of what went back to the OS for its age was wanted again within a second. So much of it had
// better stayed.
//
// What goes back in a stream, without a second in between, counts as of its end: the answer is no less than the truth.
// For the holder of its owner's lock. O(1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace snug {

class GivenLately {
 public:
  static constexpr uint32_t kSoon = 1000;  // milliseconds; the same for what is taken again in huge pages

  void gave(size_t bytes, uint32_t now) {
    forget(now);
    bytes_ += bytes;
    since_ = now;
  }
  // Without a look at the clock: where nothing has gone back, nothing can be wanted again.
  bool is_empty() const { return bytes_ == 0; }
  // So many bytes were taken from the OS. Returns how many of them had gone back to it within a second.
  size_t took(size_t bytes, uint32_t now) {
    forget(now);
    const size_t again = std::min(bytes, bytes_);
    bytes_ -= again;
    return again;
  }

 private:
  void forget(uint32_t now) {
    if (now - since_ > kSoon) bytes_ = 0;
  }

  size_t bytes_ = 0;
  uint32_t since_ = 0;
};

}  // namespace snug
