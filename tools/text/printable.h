// What came from outside (a file's name, a word of a file) made fit for one line of a terminal, a comment or XML.
#pragma once

#include <string>

namespace snug::tool {

// `text` with a ? for each control character, line ends included, and for each byte that is no UTF-8.
std::string printable(const std::string& text);

}  // namespace snug::tool
