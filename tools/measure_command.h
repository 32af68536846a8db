// `snug measure`: one run of a program on one allocator, and all it cost as JSON. What a harness builds on.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator_catalogue.h"

namespace snug::tool {

class MeasureCommand {
 public:
  // Adds the subcommand to `app`. `program`: what stood behind "--", split off before the options were parsed.
  MeasureCommand(CLI::App& app, std::vector<std::string> program);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  CLI::App* command_;
  std::vector<std::string> program_;
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
