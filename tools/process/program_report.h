// What a program told of itself in one run: the figures it measured, and its last words.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace snug::tool {

// A figure that the program measured itself and wrote to $SNUG_FIGURES.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  bool higher_is_better = false;
};

// The figures in `file`, in their order. What is no figure is left out; no file, no figures.
std::vector<Figure> read_figures(const std::filesystem::path& file);

// The last line of `file` that is not blank, shortened: the last words of a program that failed.
std::string last_line(const std::filesystem::path& file);

// The last ten lines of `file`, indented, each fit to be shown and shortened.
std::string last_lines(const std::filesystem::path& file);

}  // namespace snug::tool
