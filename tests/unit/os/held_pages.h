// held_pages: how many OS pages of a range are in memory or in swap: those that were touched and not given back since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "os/memory.h"
#include "os/residency.h"

namespace snug::unit {

inline std::size_t held_pages(const void* start, std::size_t bytes) {
  constexpr std::uint64_t kInMemoryOrSwap = std::uint64_t{3} << 62;
  std::vector<std::uint64_t> words(bytes / os::page_size());
  os::PageMap map;
  std::size_t held = 0;
  for (std::size_t done = 0; done != words.size();) {
    const auto next = reinterpret_cast<std::uintptr_t>(start) + done * os::page_size();
    const std::size_t got = map.read_words(next, words.data(), words.size() - done);
    if (got == 0) return SIZE_MAX;  // the OS does not say
    for (std::size_t i = 0; i != got; ++i) held += (words[i] & kInMemoryOrSwap) != 0 ? 1 : 0;
    done += got;
  }
  return held;
}

}  // namespace snug::unit
