// `snug run`: a program on snug, or compared on several allocators.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "print/output_file.h"

namespace snug::tool {

class RunCommand {
 public:
  // Adds the subcommand to `app`. `program`: the program and its arguments, split off before options were parsed.
  RunCommand(CLI::App& app, const std::vector<std::string>& program);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  int execute_comparison(const std::string& library) const;
  std::optional<OutputFile> json_file() const;
  void refuse_options_without_comparison() const;

  CLI::App* command_;
  CLI::Option* json_option_;
  std::vector<CLI::Option*> comparison_options_;
  const std::vector<std::string>& program_;
  std::string library_;
  std::string configuration_;
  bool report_ = false;
  bool all_processes_ = false;
  std::vector<std::string> compare_;
  int rounds_ = ComparisonPlan{}.rounds;
  int warmup_rounds_ = 1;
  std::uint64_t seed_ = 1;
  double time_limit_ = 0;
  std::uint64_t min_served_ = 1;
  std::string input_ = "/dev/null";
  bool show_output_ = false;
  bool check_output_ = false;
  std::string json_file_;
};

}  // namespace snug::tool
