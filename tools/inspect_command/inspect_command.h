// `snug inspect`: what addresses of a running process are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace snug::tool {

class InspectCommand {
 public:
  explicit InspectCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  CLI::App* command_;
  std::string process_;
  std::vector<std::string> addresses_;
  bool json_ = false;
};

}  // namespace snug::tool
