// `snug record`: what a program asks of its allocator, written down.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "process/child_process.h"

namespace snug::tool {

// Throws UserError if the file cannot be read as suppressions: before a program runs, and not behind it.
using ExpectSuppressions = void (*)(const std::string& file);

class RecordCommand {
 public:
  // Adds the subcommand to `app`. `program`: the program and its arguments, split off before options were parsed.
  RecordCommand(CLI::App& app, const std::vector<std::string>& program, ExpectSuppressions expect_suppressions);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  int record(Command& command, const std::string& library) const;

  CLI::App* command_;
  const std::vector<std::string>& program_;
  ExpectSuppressions expect_suppressions_;
  CLI::Option* file_option_ = nullptr;
  std::string file_ = "snug.trace";
  std::string allocator_;
  std::string library_;
  std::string json_file_;
  std::string suppressions_;
  int level_ = 3;
  int leaks_exit_code_ = 0;
  bool overwrites_ = false;
  bool is_paused_ = false;
  bool with_stacks_ = false;
  bool says_leaks_ = false;
};

}  // namespace snug::tool
