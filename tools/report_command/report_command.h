// `snug report`: what a recording shows, as a page, as sentences, as JSON, and as limits that it has to keep.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "process/c_library.h"
#include "report_command/heap_history.h"
#include "report_command/leak_suppressions.h"

namespace snug::tool {

class ReportCommand {
 public:
  explicit ReportCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  void expect_outputs() const;
  int show_leaks(LeakSuppressions* suppressions) const;
  bool writes_json_to_standard_output() const;
  bool asks_for_replay() const { return replay_option_->count() > 0 || as_recorded_; }
  bool replays() const;
  static void write(const std::string& path, const std::string& text);

  CLI::App* command_;
  CLI::Option* json_option_ = nullptr;
  CLI::Option* check_option_ = nullptr;
  CLI::Option* replay_option_ = nullptr;
  CLI::Option* suppressions_option_ = nullptr;
  std::string file_;
  std::string process_;
  std::string page_file_;
  std::string json_file_;
  std::string limits_;
  std::string suppressions_;
  std::string against_;
  std::string against_process_;
  std::string at_;
  std::string library_;
  std::vector<std::string> allocators_ = {CLibrary::current().name};
  std::uint64_t temporary_events_ = kDefaultTemporaryEvents;
  bool forces_ = false;
  bool replays_not_ = false;
  bool as_recorded_ = false;
  bool shows_leaks_ = false;
};

}  // namespace snug::tool
