// `snug top`: the heaps of running processes, side by side or one in detail, looked at again and again.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace snug::tool {

class TopCommand {
 public:
  explicit TopCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  CLI::App* command_;
  std::vector<std::string> words_;
  double seconds_ = 2;
  std::uint64_t looks_ = 0;
  bool json_ = false;
};

}  // namespace snug::tool
