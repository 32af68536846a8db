// `snug trace`: traces (docs/trace-format.md) looked at, checked, cut, filtered, packed, anonymised, synthesised, and
// turned from and into other formats.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "input/trace_input.h"
#include "trace_command/synth_command.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

class TraceCommand {
 public:
  explicit TraceCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;

 private:
  CLI::App* add(const char* name, const char* usage, const char* examples);
  CLI::App* add_of_process(const char* name, const char* usage, const char* examples);
  void add_readers();
  void add_makers();
  void add_anonymise();
  void add_converters();
  void take_output(CLI::App* command);

  static int read(const TraceInput& input, int status);
  int wrote(const WrittenTrace& written) const;
  void end_at_moment(TraceInput& input) const;
  int info() const;
  int check() const;
  int head() const;
  int cut() const;
  int filter() const;
  int pack() const;
  int anonymise() const;
  int import() const;
  int export_trace() const;

  CLI::App* command_;
  std::string file_;
  std::string process_;
  std::string output_;
  std::string format_;
  CLI::Option* weight_option_ = nullptr;
  std::string weight_ = "bytes";
  bool json_ = false;
  bool shows_stacks_ = false;
  std::uint64_t count_ = 20;
  std::string from_;  // moments, or empty
  std::string to_;
  std::string at_;
  std::vector<std::uint32_t> threads_;
  std::uint64_t least_ = 0;
  std::uint64_t most_ = UINT64_MAX;
  int level_ = 3;
  std::uint64_t round_ = 1;
  std::optional<SynthCommand> synth_;
};

}  // namespace snug::tool
