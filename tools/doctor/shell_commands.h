// The commands of a shell script, as far as they can be read without running it: words as they are written, in order.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace snug::tool {

struct ShellCommand {
  enum class Joint { kNone, kAnd, kOr, kPipe, kBackground };

  std::vector<std::string> words;  // with quotes and $; without keywords and redirections
  Joint before = Joint::kNone;     // what joins it to the command in front of it
  Joint after = Joint::kNone;
  std::size_t depth = 0;  // of blocks around it: if, for, while, case, functions, subshells
};

// Whatever the text is: of what is no script the result means nothing.
std::vector<ShellCommand> shell_commands(std::string_view text);

// Where the bracket that opens at `at` closes, quotes heeded; the text's end if it does not.
std::size_t closing_bracket(std::string_view text, std::size_t at);

}  // namespace snug::tool
