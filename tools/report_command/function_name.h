// Names of functions as sentences have them: what tells C++'s overloads apart is longer than the sentence, and the
// place beside the name tells it as well.
#pragma once

#include <string>

namespace snug::tool {

// Without what a compiler adds to the name of a copy that it made for some calls: "f(int) (.isra.0)" is "f(int)".
std::string without_clone(std::string function);
// Without parameters and result besides: "int ns::Book::find<int>(int) const" is "ns::Book::find<int>".
std::string short_name(const std::string& function);
// For the bar of a flame graph: long arguments of templates go as well, and only their place is left:
// "std::vector<…>::at".
std::string bar_name(const std::string& function);

}  // namespace snug::tool
