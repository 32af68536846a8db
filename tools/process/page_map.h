// PageMap: what the kernel says of each OS page of a process, in /proc/PID/pagemap: a word a page.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace snug::tool {

class PageMap {
 public:
  explicit PageMap(pid_t process);
  ~PageMap();
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  // False if the process does not let us see its pages, or has ended.
  bool is_open() const { return descriptor_ >= 0; }
  // Calls see(place, word) for `count` pages from that number on, in order, with the place of each among them. How many
  // the kernel has told: fewer where the process has no memory any more, none if the map is not open.
  template <class See>
  std::uint64_t read(std::uint64_t first, std::uint64_t count, See see) const {
    std::array<std::uint64_t, 4096> words;
    std::uint64_t place = 0;
    while (place < count) {
      const std::size_t told = fill(first + place, std::min<std::uint64_t>(words.size(), count - place), words.data());
      if (told == 0) break;
      for (std::size_t i = 0; i < told; ++i) see(place + i, words[i]);
      place += told;
    }
    return place;
  }

 private:
  // How many words came.
  std::size_t fill(std::uint64_t first, std::size_t count, std::uint64_t* words) const;

  int descriptor_;
};

}  // namespace snug::tool
