// Where the tool's options end and a program begins, as for perf and strace: at "--", or at the first word that is
// neither an option nor an option's value. All behind it belongs to the program, whatever it looks like.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace snug::tool {

// Takes the program and its arguments out of `arguments`; the first of these is the name of `command`.
std::vector<std::string> take_program(const CLI::App& command, std::vector<std::string>& arguments);

}  // namespace snug::tool
