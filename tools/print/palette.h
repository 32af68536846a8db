// Palette: the colours that tell the lines of a picture apart. By Okabe and Ito: colour-blind readers can tell them
// apart, too.
#pragma once

#include <array>
#include <cstddef>

namespace snug::tool {

// Of the line with this number, from 0 on; beyond seven lines they begin again.
constexpr const char* line_colour(std::size_t number) {
  constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
  return kColours[number % kColours.size()];
}

}  // namespace snug::tool
