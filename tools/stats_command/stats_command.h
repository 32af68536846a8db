// `snug stats`: what running processes say of their memory, once, as a table, JSON or Prometheus' text, or for as long
// as Prometheus asks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "live/live_statistics.h"

namespace snug::tool {

class StatsCommand {
 public:
  explicit StatsCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  CLI::App* command_;
  std::vector<std::string> words_;
  bool all_ = false;
  bool memory_ = false;
  bool classes_ = false;
  bool json_ = false;
  bool prometheus_ = false;
  std::string address_;
};

}  // namespace snug::tool
