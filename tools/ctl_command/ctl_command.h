// `snug ctl`: has a running process give memory back, change a setting, or turn its heap profile on and off.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace snug::tool {

class CtlCommand {
 public:
  explicit CtlCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  CLI::App* command_;
  std::string process_;
  std::string order_;
  std::vector<std::string> words_;
  bool json_ = false;
};

}  // namespace snug::tool
