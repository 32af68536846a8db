// sizes.h: the sizes at which allocators change their mind.
#pragma once

#include <cstddef>
#include <vector>

namespace sizes {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

// Every 16 bytes up to 64 KiB, and the bytes beside each step.
inline std::vector<std::size_t> every_step(std::size_t limit = 64 * kKiB) {
  std::vector<std::size_t> all{0, 1};
  for (std::size_t step = 16; step <= limit; step += 16)
    for (const std::size_t size : {step - 1, step, step + 1}) all.push_back(size);
  return all;
}

// Each power of two, its halfway points and quarters, and their neighbours.
inline std::vector<std::size_t> around_powers(std::size_t limit) {
  std::vector<std::size_t> all{0, 1, 2, 3};
  for (std::size_t power = 4; power <= limit; power *= 2)
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{2}})
        all.push_back(power + power / 4 * quarter + offset - 1);
  return all;
}

// A few of each kind: tiny, small, medium, the borders of slabs and pages, large, huge.
inline std::vector<std::size_t> one_of_each() {
  return {0,      1,      16,     17,     64,     100,     128,     129,     1000,    1024,    1025,
          4000,   4096,   8192,   20000,  32768,  32769,   65536,   65537,   100000,  131072,  131073,
          200000, 262144, 262145, 524288, 524289, 1048576, 1048577, 2097152, 2097153, 5000000, 16777216};
}

}  // namespace sizes
