// `snug measure`: one run of a program on one allocator, and all it cost as JSON. What a harness builds on.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "library/allocator_catalogue.h"

namespace snug::tool {

class MeasureCommand {
 public:
  // Adds the subcommand to `app`. `program`: the program and its arguments, split off before options were parsed.
  MeasureCommand(CLI::App& app, const std::vector<std::string>& program);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  CLI::App* command_;
  const std::vector<std::string>& program_;
  std::string allocator_ = "snug";
  std::string library_;
  std::string configuration_;
  double time_limit_ = 0;
  double sample_milliseconds_ = 20;
  bool prove_ = false;
  std::uint64_t warm_mebibytes_ = 0;
  std::string json_file_ = "-";
};

}  // namespace snug::tool
