// SvgPanel: one diagram of an SVG picture: a frame with an axis of sizes below, logarithmic unless told, a value axis
// at its left, and what is drawn inside by values. Text stays text.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace snug::tool {

// In pixels of the picture.
struct SvgFrame {
  double left;
  double top;
  double width;
  double height;
};

class SvgPanel {
 public:
  struct Point {
    double size;
    double value;
  };
  struct Tick {
    double value;
    std::string label;
  };
  enum class Scale { kLinear, kLog2 };

  // Sizes and values within the ranges; what is drawn beyond is cut off.
  SvgPanel(SvgFrame frame, std::pair<double, double> sizes, std::pair<double, double> values, Scale value_scale,
           Scale size_scale = Scale::kLog2);

  void title(const std::string& text, const std::string& colour);
  void value_axis(const std::string& name, const std::vector<Tick>& ticks);
  void size_axis(const std::string& name);
  // Instead of sizes, at these places.
  void axis_below(const std::string& name, const std::vector<Tick>& ticks);
  void bar(double from, double to, double value, const std::string& colour);
  void line(const std::vector<Point>& points, const std::string& colour);
  // The area under a line is filled as well.
  void area(const std::vector<Point>& points, const std::string& colour);
  void dots(const std::vector<Point>& points, const std::string& colour);

  std::string text() const { return text_ + "</g>\n"; }

 private:
  double x(double size) const;
  double y(double value) const;
  std::string path_of(const std::vector<Point>& points) const;
  void label(double x, double y, const std::string& anchor, const std::string& more, const std::string& words);

  SvgFrame frame_;
  std::pair<double, double> sizes_;
  std::pair<double, double> values_;
  Scale value_scale_;
  Scale size_scale_;
  std::string text_;
};

// "512", "4K", "2M".
std::string short_size(double bytes);
std::string xml_escaped(const std::string& text);

}  // namespace snug::tool
