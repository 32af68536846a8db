#include "classes/classes_plot.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "print/output_file.h"
#include "print/palette.h"
#include "print/svg_panel.h"
#include "process/child_process.h"
#include "process/temporary_folder.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 84;
constexpr double kRight = 24;
constexpr double kWasteHeight = 150;
constexpr double kCachedHeight = 190;
constexpr double kBetween = 44;
constexpr double kAxisHeight = 50;
constexpr double kSmallestSize = 16;
constexpr int kBinsADoubling = 4;

constexpr const char* kGrey = "#d9d9d9";

// The part of the block that each request leaves unused, in percent: it falls within a class and jumps behind it.
std::vector<SvgPanel::Point> waste_line(const ClassesMap& map) {
  constexpr int kParts = 16;  // of the curve within a class
  std::vector<SvgPanel::Point> points;
  for (std::size_t c = 1; c <= map.largest_class; ++c) {
    const double size = static_cast<double>(map.rows[c].size);
    const double first = std::max(kSmallestSize, static_cast<double>(map.rows[c - 1].size + 1));
    if (first > size) continue;
    for (int part = 0; part <= kParts; ++part) {
      const double request = first + (size - first) * part / kParts;
      points.push_back({request, 100 * (size - request) / size});
    }
  }
  return points;
}

double highest(const std::vector<SvgPanel::Point>& points) {
  double value = 0;
  for (const SvgPanel::Point& point : points) value = std::max(value, point.value);
  return value;
}

// Bytes asked for by size, the most as high as the panel.
void draw_histogram(SvgPanel& panel, const SizeHistogram& histogram, double largest, double height) {
  std::vector<double> bins(static_cast<std::size_t>(std::log2(largest / kSmallestSize) * kBinsADoubling) + 1);
  for (const auto& [size, count] : histogram.entries) {
    const double bytes = static_cast<double>(size);
    if (bytes > largest || bytes < 1) continue;
    const double bin = std::max(0.0, std::ceil(std::log2(bytes / kSmallestSize) * kBinsADoubling) - 1);
    bins[static_cast<std::size_t>(bin)] += bytes * static_cast<double>(count);
  }
  const double most = *std::max_element(bins.begin(), bins.end());
  if (most == 0) return;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    const double from = kSmallestSize * std::exp2(static_cast<double>(bin) / kBinsADoubling);
    panel.bar(from, from * std::exp2(1.0 / kBinsADoubling), bins[bin] / most * height, kGrey);
  }
}

std::string waste_panel(const ClassesMap& map, const SizeHistogram& histogram, const SvgFrame& frame, double largest,
                        const std::string& colour) {
  const std::vector<SvgPanel::Point> line = waste_line(map);
  const double height = highest(line) <= 50 ? 50 : 100;
  SvgPanel panel(frame, {kSmallestSize, largest}, {0, height}, SvgPanel::Scale::kLinear);
  draw_histogram(panel, histogram, largest, height);
  std::vector<SvgPanel::Tick> ticks;
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0})
    ticks.push_back({height * part, fmt::format("{:g}%", height * part)});
  panel.title(fmt::format("{}: {} classes up to {}", map.name, map.largest_class,
                          short_size(static_cast<double>(map.largest().size))),
              colour);
  panel.value_axis("unused", ticks);
  panel.area(line, colour);
  return panel.text();
}

std::string cached_panel(const std::vector<ClassesMap>& maps, const SvgFrame& frame, double largest) {
  double most = 0;
  for (const ClassesMap& map : maps)
    for (std::size_t c = 1; c <= map.largest_class; ++c)
      most = std::max(most, static_cast<double>(map.rows[c].bytes_cached));
  const double top = std::exp2(std::ceil(std::log2(std::max(most, 128.0))));
  SvgPanel panel(frame, {kSmallestSize, largest}, {64, top}, SvgPanel::Scale::kLog2);
  std::vector<SvgPanel::Tick> ticks;
  const double every = std::log2(top / 64) > 8 ? 4 : 2;
  for (double value = 64; value <= top; value *= every) ticks.push_back({value, short_size(value)});
  panel.value_axis("bytes", ticks);
  for (std::size_t i = maps.size(); i-- > 0;) {  // the first on top
    std::vector<SvgPanel::Point> points;
    for (std::size_t c = 1; c <= maps[i].largest_class; ++c) {
      const SizeClassRow& row = maps[i].rows[c];
      if (row.size >= kSmallestSize)
        points.push_back({static_cast<double>(row.size), static_cast<double>(row.bytes_cached)});
    }
    panel.line(points, line_colour(i));
    panel.dots(points, line_colour(i));
  }
  panel.title("Bytes of each class that a thread caches at most", "#222");
  panel.size_axis("size of the request, or of the class's blocks, in bytes");
  return panel.text();
}

void convert_to_png(const std::string& svg, const std::string& path) {
  const TemporaryFolder folder;
  const std::string picture = folder.path() / "plot.svg";
  const std::string converted = folder.path() / "plot.png";
  write_output(picture, svg);
  const HeldSignals signals({});
  const Command convert{.arguments = {"rsvg-convert", "-z", "2", "-o", converted, picture},
                        .environment = Environment::current(),
                        .input = {},
                        .output = {},
                        .errors = {}};
  try {
    const ChildProcess child(convert, signals);
    int status = 0;
    if (waitpid(child.pid(), &status, 0) < 0 || status != 0)
      throw UserError(fmt::format("rsvg-convert could not write '{}'", path), EXIT_FAILURE);
  } catch (const UserError& error) {
    if (error.exit_status() == EXIT_FAILURE) throw;
    throw UserError("a .png needs rsvg-convert (Debian's librsvg2-bin); a .svg needs nothing", EXIT_FAILURE);
  }
  std::ostringstream made;
  made << std::ifstream(converted, std::ios::binary).rdbuf();
  write_output(path, made.str());
}

}  // namespace

std::string classes_svg(const std::vector<ClassesMap>& maps, const SizeHistogram& histogram) {
  double largest = 2 * kSmallestSize;
  for (const ClassesMap& map : maps)
    largest = std::max(largest, std::exp2(std::ceil(std::log2(static_cast<double>(map.largest().size)))));
  double top = 64;
  std::string panels;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const SvgFrame frame{kLeft, top, kWidth - kLeft - kRight, kWasteHeight};
    panels += waste_panel(maps[i], histogram, frame, largest, line_colour(i));
    top += kWasteHeight + kBetween;
  }
  panels += cached_panel(maps, {kLeft, top, kWidth - kLeft - kRight, kCachedHeight}, largest);
  const double height = top + kCachedHeight + kAxisHeight;
  const std::string grey = histogram.entries.empty() ? "" : " Grey: bytes that the histogram asks for, in proportion.";
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" fill=\"#444\">Part of a block that a request leaves unused, against its "
      "size.{3}</text>\n"
      "{4}</svg>\n",
      kWidth, height, kLeft, grey, panels);
}

void expect_plot_name(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  if (ending != ".svg" && ending != ".png") throw UserError(fmt::format("'{}': a plot ends in .svg or .png", path));
}

void write_plot(const std::string& path, const std::string& svg) {
  expect_plot_name(path);
  if (path.ends_with(".png")) return convert_to_png(svg, path);
  write_output(path, svg);
}

}  // namespace snug::tool
