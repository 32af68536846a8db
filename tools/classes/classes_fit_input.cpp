#include "classes/classes_fit_input.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "text/numbered_lines.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

// The first line of trace::FileHeader.
constexpr std::string_view kRecordedTrace = "\x89snugtr";

// Leaves the lines at the first one that says it.
bool is_trace(NumberedLines& lines) {
  while (lines.next()) {
    const std::string_view line = lines.line();
    const std::size_t begin = line.find_first_not_of(" \t\r\v\f");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    if (line == kRecordedTrace)
      throw lines.fault_of_text(
          "a trace of snug record, which is read at any place and so from no pipe: name its file");
    lines.put_back();
    const char first = line[begin];
    return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  }
  return false;
}

}  // namespace

FitInput parse_fit_input(std::istream& text, const std::string& name, std::optional<TraceCount> counted) {
  NumberedLines lines(text, name);
  if (is_trace(lines)) {
    CountedTrace trace = count_trace(lines, counted.value_or(TraceCount::kPeak));
    return {.histogram = std::move(trace.histogram), .trace = trace.summary};
  }
  SizeHistogram histogram = parse_histogram(lines);
  if (counted) throw lines.fault_of_text("--of says what to count of a trace, and this is a histogram");
  return {.histogram = std::move(histogram), .trace = std::nullopt};
}

FitInput read_fit_input(const std::string& path, std::optional<TraceCount> counted) {
  if (path == "-") return parse_fit_input(std::cin, "standard input", counted);
  std::ifstream file(path);
  if (!file) throw UserError(fmt::format("'{}' cannot be read", path));
  std::error_code none;
  if (std::filesystem::is_regular_file(path, none) && std::filesystem::is_empty(path, none))
    throw UserError(fmt::format("'{}' is empty", path), kExitDamaged);
  return parse_fit_input(file, path, counted);
}

}  // namespace snug::tool
