// `snug replay`: a trace made to happen again on several allocators, measured and compared.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "process/c_library.h"

namespace snug::tool {

class ReplayCommand {
 public:
  explicit ReplayCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;

 private:
  void add_components();
  void add_rounds();
  void add_outputs();
  ComparisonPlan comparison_plan() const;

  CLI::App* command_;
  CLI::Option* json_option_ = nullptr;
  std::string file_;
  std::string process_;
  std::vector<std::string> allocators_ = {CLibrary::current().name};
  std::vector<std::string> components_;
  std::uint64_t region_bytes_ = std::uint64_t{16} << 30;
  std::uint64_t kappa_ = 1;
  std::string tlsf_;
  std::string touch_;  // empty: what the trace knows
  std::string speed_ = "full";
  std::string library_;
  std::string configuration_;
  int rounds_ = ComparisonPlan{}.rounds;
  int warmup_rounds_ = 1;
  std::uint64_t seed_ = 1;
  double time_limit_ = 0;
  bool shows_ticks_ = false;
  bool shows_sizes_ = false;
  std::string json_file_;
  std::string plot_file_;
};

}  // namespace snug::tool
