// `snug doctor`: what stands in the way of a preload, or that nothing does.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace snug::tool {

class DoctorCommand {
 public:
  // `program`: the program or process, then arguments that it does not look at, split off before options were parsed.
  DoctorCommand(CLI::App& app, const std::vector<std::string>& program);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  CLI::App* command_;
  const std::vector<std::string>& program_;
  bool json_ = false;
};

}  // namespace snug::tool
