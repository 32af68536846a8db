// `snug profile`: a program with the sampled heap profile, or a process that runs with it, and what such profiles say.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "print/output_file.h"
#include "print/people_text.h"
#include "profile_command/heap_profile_file.h"

namespace snug::tool {

class ProfileCommand {
 public:
  // Adds the subcommand to `app`. `program`: the program and its arguments, split off before options were parsed.
  ProfileCommand(CLI::App& app, const std::vector<std::string>& program);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  // What is asked for; made before a program runs, that may take hours.
  struct Files {
    explicit Files(const ProfileCommand& command);

    std::optional<OutputFile> profile;
    std::optional<OutputFile> collapsed;
    std::optional<OutputFile> json;
  };

  ProfileMeasure measure() const;
  int run_program() const;
  int show_running(const std::string& word) const;
  void show(const HeapProfileFile& profile, PeopleText people, Files& files) const;
  void refuse_options_of_runs() const;
  bool is_output_taken() const;

  CLI::App* command_;
  const std::vector<std::string>& program_;
  std::string library_;
  std::string configuration_;
  std::string distance_ = "512K";
  std::string out_file_;
  std::string compared_;
  std::string shown_;
  bool live_ = false;
  bool allocated_ = false;
  bool peak_ = false;
  std::uint64_t most_ = 15;
  std::string collapsed_file_;
  std::string json_file_;
};

}  // namespace snug::tool
