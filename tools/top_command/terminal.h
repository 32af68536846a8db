// Terminal: the screen and the keys of a view that is drawn again and again. Its end, that of the program by a signal
// included, leaves the terminal as it was.
#pragma once

#include <chrono>
#include <string>

namespace snug::tool {

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static bool is_here();  // standard input and output are a terminal
  std::size_t lines() const;
  void draw(const std::string& text) const;
  // The next key, "up" and "down" for arrows; empty if none came in so long, "q" at the end of input.
  std::string key(std::chrono::milliseconds patience) const;
};

}  // namespace snug::tool
