// `snug trace synth PROFILE`: traces that no program has made, of a profile with stated parameters. Their facts say
// which, so that a trace can be made again.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "trace_command/hummingbird.h"

namespace snug::tool {

class SynthCommand {
 public:
  // Below `snug trace`.
  explicit SynthCommand(CLI::App& trace);

  int execute() const;

 private:
  void add_hummingbird();
  int synthesise_hummingbird() const;

  CLI::App* command_;
  std::string output_;
  int level_ = 3;
  bool json_ = false;
  Hummingbird hummingbird_;
};

}  // namespace snug::tool
