#include "print/svg_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/printable.h"

namespace snug::tool {

std::string short_size(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{}M", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{}K", bytes / (1 << 10));
  return fmt::format("{}", bytes);
}

std::string xml_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

namespace {

// Where a value stands between both ends, 0 to 1.
double part_of(double value, const std::pair<double, double>& range, SvgPanel::Scale scale) {
  const double part = scale == SvgPanel::Scale::kLinear
                          ? (value - range.first) / (range.second - range.first)
                          : std::log2(value / range.first) / std::log2(range.second / range.first);
  return std::clamp(part, 0.0, 1.0);
}

}  // namespace

SvgPanel::SvgPanel(SvgFrame frame, std::pair<double, double> sizes, std::pair<double, double> values, Scale value_scale,
                   Scale size_scale)
    : frame_(frame), sizes_(sizes), values_(values), value_scale_(value_scale), size_scale_(size_scale) {
  text_ = fmt::format("<g>\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
                      frame_.left, frame_.top, frame_.width, frame_.height);
}

double SvgPanel::x(double size) const { return frame_.left + part_of(size, sizes_, size_scale_) * frame_.width; }

double SvgPanel::y(double value) const {
  return frame_.top + (1 - part_of(value, values_, value_scale_)) * frame_.height;
}

void SvgPanel::label(double x, double y, const std::string& anchor, const std::string& more, const std::string& words) {
  text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                       xml_escaped(words));
}

void SvgPanel::title(const std::string& text, const std::string& colour) {
  label(frame_.left, frame_.top - 8, "start", fmt::format(" font-weight=\"bold\" fill=\"{}\"", colour), text);
}

void SvgPanel::value_axis(const std::string& name, const std::vector<Tick>& ticks) {
  for (const Tick& tick : ticks) {
    text_ +=
        fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#ddd\"/>\n", frame_.left, y(tick.value), frame_.width);
    label(frame_.left - 6, y(tick.value) + 4, "end", "", tick.label);
  }
  const double middle = frame_.top + frame_.height / 2;
  label(0, 0, "middle", fmt::format(" transform=\"translate({:.1f} {:.1f}) rotate(-90)\"", frame_.left - 54, middle),
        name);
}

void SvgPanel::size_axis(const std::string& name) {
  std::vector<Tick> ticks;
  for (double size = sizes_.first; size <= sizes_.second; size *= 2) ticks.push_back({size, short_size(size)});
  axis_below(name, ticks);
}

void SvgPanel::axis_below(const std::string& name, const std::vector<Tick>& ticks) {
  const double bottom = frame_.top + frame_.height;
  for (const Tick& tick : ticks) {
    text_ += fmt::format("<path d=\"M{:.1f} {:.1f}v5\" stroke=\"#888\"/>\n", x(tick.value), bottom);
    label(x(tick.value), bottom + 18, "middle", "", tick.label);
  }
  label(frame_.left + frame_.width / 2, bottom + 38, "middle", "", name);
}

std::string SvgPanel::path_of(const std::vector<Point>& points) const {
  std::string path;
  for (const Point& point : points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(point.size), y(point.value));
  return path;
}

void SvgPanel::bar(double from, double to, double value, const std::string& colour) {
  text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x(from),
                       y(value), x(to) - x(from), y(values_.first) - y(value), colour);
}

void SvgPanel::line(const std::vector<Point>& points, const std::string& colour) {
  text_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\"/>\n", path_of(points), colour);
}

void SvgPanel::area(const std::vector<Point>& points, const std::string& colour) {
  if (points.empty()) return;
  std::vector<Point> closed = points;
  closed.push_back({points.back().size, values_.first});
  closed.push_back({points.front().size, values_.first});
  text_ += fmt::format("<path d=\"{}z\" fill=\"{}\" fill-opacity=\"0.25\"/>\n", path_of(closed), colour);
  line(points, colour);
}

void SvgPanel::dots(const std::vector<Point>& points, const std::string& colour) {
  for (const Point& point : points)
    text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\"/>\n", x(point.size), y(point.value),
                         colour);
}

}  // namespace snug::tool
