#include "doctor/shell_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "doctor/shell_commands.h"
#include "doctor/shell_words.h"

namespace snug::tool {

namespace {

using Joint = ShellCommand::Joint;
using Words = std::vector<std::string>;

constexpr std::array<std::string_view, 5> kDeclaring = {"export", "readonly", "local", "declare", "typeset"};
constexpr std::size_t kMostShown = 60;  // letters of a word

// How many letters of the word are the name in NAME=value; 0 if it is no assignment.
std::size_t assigned_name(const std::string& word) {
  const std::size_t equals = word.find('=');
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (equals == std::string::npos || equals == 0) return 0;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_letter) ? equals : 0;
}

class ScriptReading {
 public:
  ScriptReading(const std::string& path, const Environment& environment) : words_(path, environment) {}

  ScriptEnd end(const std::vector<ShellCommand>& commands) {
    for (const ShellCommand& command : commands) {
      if (const auto ending = read(command)) return *ending;
    }
    if (maybe_.empty()) return unknown("it starts programs, and becomes none of them (exec)");
    return unknown(fmt::format("whether it becomes '{}' (exec) hangs on conditions", maybe_.front()));
  }

 private:
  static ScriptEnd unknown(std::string reason) {
    return {.program = {}, .search_path = {}, .reason = std::move(reason)};
  }

  static bool is_certain(const ShellCommand& command) {
    const auto is_condition = [](Joint joint) { return joint != Joint::kNone && joint != Joint::kBackground; };
    return command.depth == 0 && !is_condition(command.before) && command.after != Joint::kPipe &&
           command.after != Joint::kBackground;
  }

  std::optional<ScriptEnd> read(const ShellCommand& command) {
    std::size_t first = 0;
    while (first < command.words.size() && assigned_name(command.words[first]) != 0) ++first;
    // What stands in front of a command is its own.
    if (first == command.words.size()) assign(command, 0);
    if (first == command.words.size()) return std::nullopt;
    const std::string name = words_.value(command.words[first]).value_or("");
    if (std::find(kDeclaring.begin(), kDeclaring.end(), name) != kDeclaring.end()) {
      assign(command, first + 1);
    } else if (name == "." || name == "source" || name == "eval") {
      words_.forget_all();
    } else if (name == "read" || name == "unset" || name == "for" || name == "select" || name == "getopts") {
      for (const std::string& word : command.words) words_.set(word, std::nullopt);
    } else if (name == "cd" || name == "pushd") {
      moved_ = true;
    } else if (name == "exec") {
      return read_exec(command, first + 1);
    }
    return std::nullopt;
  }

  void assign(const ShellCommand& command, std::size_t from) {
    for (std::size_t i = from; i < command.words.size(); ++i) {
      const std::string& word = command.words[i];
      const std::size_t length = assigned_name(word);
      if (length == 0) continue;
      const std::string name = word.substr(0, length);
      words_.set(name, is_certain(command) ? words_.value(word.substr(length + 1)) : std::nullopt);
    }
  }

  // Nothing if the script goes on, or may.
  std::optional<ScriptEnd> read_exec(const ShellCommand& command, std::size_t at) {
    const Words& raw = command.words;
    while (at < raw.size() && raw[at].starts_with('-')) at += raw[at] == "-a" ? 2 : 1;
    if (at < raw.size() && words_.value(raw[at]).value_or("") == "env") {
      ++at;
      while (at < raw.size() && assigned_name(raw[at]) != 0) ++at;
    }
    if (at >= raw.size()) return std::nullopt;  // it redirects the script's own files
    const std::string shown = raw[at].substr(0, kMostShown);
    const std::optional<std::string> program = words_.value(raw[at]);
    if (!is_certain(command)) {
      maybe_.push_back(program.value_or(shown));
      return std::nullopt;
    }
    if (!program || program->empty() || program->starts_with('-'))
      return unknown(fmt::format("what it becomes, by exec {}, is known only when it runs", shown));
    for (const std::string& other : maybe_) {
      if (other != *program) return unknown(fmt::format("it becomes either '{}' or '{}' (exec)", other, *program));
    }
    const bool is_path = program->find('/') != std::string::npos;
    if (is_path ? moved_ && !program->starts_with('/') : !words_.is_known("PATH"))
      return unknown(fmt::format("where '{}', which it becomes (exec), lies is known only when it runs", *program));
    return ScriptEnd{.program = program, .search_path = words_.variable("PATH"), .reason = {}};
  }

  ShellWords words_;
  bool moved_ = false;  // the script has gone to another folder
  Words maybe_;         // programs that it becomes on a condition
};

}  // namespace

ScriptEnd script_end(std::string_view text, const std::string& path, const Environment& environment) {
  return ScriptReading(path, environment).end(shell_commands(text));
}

}  // namespace snug::tool
