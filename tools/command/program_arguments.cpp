#include "command/program_arguments.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kEndOfOptions = "--";

// Whether the value of the option `word` is the next word: it needs one, and none is behind a "=" or the letter.
// A value that may be left out must stand behind "=".
bool takes_next_word(const CLI::App& command, const std::string& word) {
  const bool is_long = word.starts_with("--");
  if (is_long ? word.find('=') != std::string::npos : word.size() > 2) return false;
  const CLI::Option* option = command.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_min() > 0;
}

bool may_leave_value_out(const CLI::App& command, const std::string& word) {
  const CLI::Option* option = command.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_min() == 0 && option->get_items_expected_max() > 0;
}

// Whether there is such a file, where exec looks for programs.
bool is_there(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), F_OK) == 0;
  const char* const path = std::getenv("PATH");
  if (path == nullptr) return true;  // the system's own search decides
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access(((folder.empty() ? "." : folder) + "/" + program).c_str(), F_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> take_program(const CLI::App& command, std::vector<std::string>& arguments) {
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].size() > 1 && arguments[at].front() == '-') {
    if (arguments[at] == kEndOfOptions) break;
    at += takes_next_word(command, arguments[at]) ? 2 : 1;
  }
  at = std::min(at, arguments.size());
  const bool marked = at < arguments.size() && arguments[at] == kEndOfOptions;
  if (!marked && at + 1 < arguments.size() && arguments[at + 1] == kEndOfOptions &&
      may_leave_value_out(command, arguments[at - 1])) {
    throw UserError(fmt::format("the value of {0} stands behind '=': {0}={1}", arguments[at - 1], arguments[at]));
  }
  if (!marked && at < arguments.size() && may_leave_value_out(command, arguments[at - 1]) && !is_there(arguments[at])) {
    throw UserError(
        fmt::format("cannot run '{1}': there is no such program; the value of {0} stands behind '=': {0}={1}",
                    arguments[at - 1], printable(arguments[at])),
        kExitNotFound);
  }
  std::vector<std::string> program(arguments.begin() + static_cast<std::ptrdiff_t>(at + (marked ? 1 : 0)),
                                   arguments.end());
  arguments.resize(at);
  return program;
}

}  // namespace snug::tool
