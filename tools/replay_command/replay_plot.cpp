#include "replay_command/replay_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "print/palette.h"
#include "print/quantity.h"
#include "print/svg_panel.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr double kWidth = 900;
constexpr double kPanelHeight = 420;
constexpr double kLeft = 90;
constexpr double kRight = 30;
constexpr double kTop = 70;
constexpr double kAxisHeight = 60;
constexpr double kKeyLine = 20;
constexpr double kSampleWidth = 26;
constexpr int kTicks = 6;
constexpr const char* kLiveColour = "#999999";

struct Extent {
  double seconds = 0;
  double bytes = 0;
};

Extent extent_of(const ReplayComparison& replays) {
  Extent extent;
  for (const Replayed& replayed : replays.replayed) {
    for (const Checkpoint& checkpoint : replayed.checkpoints) {
      extent.seconds = std::max(extent.seconds, checkpoint.recorded_seconds);
      extent.bytes = std::max({extent.bytes, static_cast<double>(checkpoint.resident_bytes),
                               static_cast<double>(checkpoint.recorded_resident.value_or(0)),
                               static_cast<double>(checkpoint.live_bytes)});
    }
  }
  return extent;
}

// 1, 2 or 5 times a power of ten, of which about kTicks make the whole.
double step_of(double whole, double base) {
  const double rough = whole / kTicks / base;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power * base;
  return 10 * power * base;
}

std::vector<SvgPanel::Tick> ticks(double whole, double base, const std::string& unit) {
  std::vector<SvgPanel::Tick> result;
  const double step = step_of(whole, base);
  for (double value = 0; value <= whole; value += step) result.push_back({value, value_text(value, unit)});
  return result;
}

double unit_of_bytes(double bytes) { return bytes >= 1 << 20 ? 1 << 20 : 1 << 10; }

std::string key_line(double x, double y, const std::string& colour, const std::string& name) {
  return fmt::format(
      "<path d=\"M{:.0f} {:.0f}h{:.0f}\" stroke=\"{}\" stroke-width=\"3\"/>\n<text x=\"{:.0f}\" "
      "y=\"{:.0f}\">{}</text>\n",
      x, y - 4, kSampleWidth - 6, colour, x + kSampleWidth, y, xml_escaped(name));
}

}  // namespace

std::string replay_svg(const ReplayComparison& replays) {
  const Extent extent = extent_of(replays);
  if (extent.seconds <= 0 || extent.bytes <= 0)
    throw UserError("no run that counts has anything to plot", EXIT_FAILURE);
  SvgPanel panel({kLeft, kTop, kWidth - kLeft - kRight, kPanelHeight}, {0, extent.seconds}, {0, extent.bytes * 1.05},
                 SvgPanel::Scale::kLinear, SvgPanel::Scale::kLinear);
  panel.value_axis("", ticks(extent.bytes * 1.05, unit_of_bytes(extent.bytes), kBytes));
  panel.axis_below("time of the recording", ticks(extent.seconds, 1, kSeconds));
  std::string key;
  double key_y = kTop + 24;
  const auto add_key = [&](const std::string& colour, const std::string& name) {
    key += key_line(kLeft + 14, key_y, colour, name);
    key_y += kKeyLine;
  };
  const auto line = [&](const Replayed& replayed, auto value) {
    std::vector<SvgPanel::Point> points;
    for (const Checkpoint& checkpoint : replayed.checkpoints)
      points.push_back({checkpoint.recorded_seconds, value(checkpoint)});
    return points;
  };
  const auto first =
      std::ranges::find_if(replays.replayed, [](const Replayed& replayed) { return !replayed.checkpoints.empty(); });
  panel.area(line(*first, [](const Checkpoint& one) { return static_cast<double>(one.live_bytes); }), kLiveColour);
  add_key(kLiveColour, "live bytes, as asked for");
  for (std::size_t i = 0; i < replays.replayed.size(); ++i) {
    if (replays.replayed[i].checkpoints.empty()) continue;
    const char* const colour = line_colour(i);
    panel.line(line(replays.replayed[i], [](const Checkpoint& one) { return static_cast<double>(one.resident_bytes); }),
               colour);
    add_key(colour, "RSS on " + replays.comparison.contenders[i].allocator.name);
  }
  std::vector<SvgPanel::Point> recorded;
  for (const Checkpoint& one : first->checkpoints)
    if (one.recorded_resident) recorded.push_back({one.recorded_seconds, static_cast<double>(*one.recorded_resident)});
  if (!recorded.empty()) {
    panel.dots(recorded, "#444444");
    add_key("#444444", "RSS when recorded (dots)");
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"30\" fill=\"#444\">Memory of a replay of {3}</text>\n{4}{5}</svg>\n",
      kWidth, kTop + kPanelHeight + kAxisHeight, kLeft, xml_escaped(replays.plan.file), panel.text(), key);
}

}  // namespace snug::tool
