// `snug config`: every key of SNUG_CONF with what is in force in this environment.
#pragma once

#include <CLI/CLI.hpp>

namespace snug::tool {

class ConfigCommand {
 public:
  explicit ConfigCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;

 private:
  CLI::App* command_;
  bool json_ = false;
};

}  // namespace snug::tool
