// Size-class maps in a picture (SVG): for each map which part of a block is left unused, against the size of the
// request, over what the program asks for if that is known; and below, how many bytes of each class a thread caches.
#pragma once

#include <string>
#include <vector>

#include "classes/classes_histogram.h"
#include "classes/classes_map.h"

namespace snug::tool {

// `histogram` may be empty.
std::string classes_svg(const std::vector<ClassesMap>& maps, const SizeHistogram& histogram);

// Throws UserError if no picture can be written under that name.
void expect_plot_name(const std::string& path);
// Writes the picture to `path`. Its ending says how: .svg, or .png by the program rsvg-convert. Throws UserError.
void write_plot(const std::string& path, const std::string& svg);

}  // namespace snug::tool
