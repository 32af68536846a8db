// Functions that call each other, compiled without frame pointers, each with another kind of frame.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::walked {

// The kinds of frames that are still to be called; at their end `at_the_end` is.
struct Calls {
  const uint8_t* kinds;
  std::size_t left;
  void (*at_the_end)();
};

inline constexpr uint8_t kKinds = 10;

// Calls the function of the first kind with the rest.
int call_next(const Calls& calls);

}  // namespace snug::walked
