#include "profile_command/profile_command.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "config/configuration.h"
#include "library/snug_library.h"
#include "live/live_process.h"
#include "print/output_file.h"
#include "print/people_text.h"
#include "print/say.h"
#include "process/child_process.h"
#include "process/passed_signals.h"
#include "process/temporary_folder.h"
#include "profile_command/profile_table.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(Examples:
  snug profile ./server --port 7000
      Runs it on snug with the heap profile; at its end, which stacks hold its memory.
  snug profile --peak -o prof.pb ./job && go tool pprof -http=: prof.pb
      What was live when most was; the profile itself for pprof.
  snug profile --allocated --collapsed stacks.txt ./job
      What was allocated in all; one line a stack, as flamegraph.pl takes it.
  snug profile 1234
      A process that runs with SNUG_CONF=publish:on, and profiles: by profile:512K in SNUG_CONF, or since `snug ctl
      1234 profile on`. It goes on meanwhile.
  snug profile --show heap.pb -o named.pb
      One that a process has written by itself, which has no names yet.
  snug profile --diff before.pb after.pb
      What is more, and what is less, by stack.

Options of snug stand before the program; -- may stand between. On x86-64 with glibc 2.35 stacks need no frame pointers;
elsewhere code without them (-fno-omit-frame-pointer turns them on) is told by its innermost calls alone. Names are
looked up by llvm-symbolizer or addr2line. Each process writes its own profile; shown is that of the program itself.

Exit status: the program's own; 126 or 127 if it cannot be executed. Of --show and --diff: 0, or 2 for wrong usage.)";

const std::vector<int> kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Of the signals that are held back. One that has come ends the tool when they are held no more, and the folder and
// unfinished files are gone.
bool is_told_to_end() {
  sigset_t pending;
  sigpending(&pending);
  return std::ranges::any_of(kEndingSignals, [&](int signal) { return sigismember(&pending, signal) == 1; });
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

ProfileCommand::ProfileCommand(CLI::App& app, const std::vector<std::string>& program) : program_(program) {
  command_ = app.add_subcommand("profile",
                                "snug profile [options] program [arguments...]\n"
                                "snug profile [options] PID\n"
                                "Which stacks hold a program's memory, by a sampled heap profile");
  command_->footer(kExamples);
  const std::string group = "Of a program that is run";
  command_->add_option("--library", library_, "The libsnug.so to use, instead of the one beside this tool")
      ->group(group)
      ->type_name("PATH");
  command_->add_option("--conf", configuration_, "Settings of snug, added to SNUG_CONF")
      ->group(group)
      ->type_name("KEY:VALUE,...");
  command_->add_option("--distance", distance_, "Mean distance between samples, in bytes from 1K to 1G")
      ->group(group)
      ->capture_default_str()
      ->type_name("SIZE");
  auto* live = command_->add_flag("--live", live_, "Show what is live at the end, the default");
  auto* allocated = command_->add_flag("--allocated", allocated_, "Show what was allocated in all")->excludes(live);
  command_->add_flag("--peak", peak_, "Show what was live when most was")->excludes(live)->excludes(allocated);
  command_->add_option("-n,--rows", most_, "Stacks that are shown")
      ->check(number_within(std::uint64_t{1}, std::uint64_t{1000000}))
      ->capture_default_str();
  auto* output = command_
                     ->add_option("-o,--output", out_file_,
                                  "Write the profile there, for pprof, with the names of functions; that of --show too")
                     ->type_name("FILE");
  command_->add_option("--collapsed", collapsed_file_, "Write a line for each stack; - for standard output")
      ->type_name("FILE");
  command_->add_option("--json", json_file_, "Write all stacks as JSON (snug.profile/1); - for standard output")
      ->type_name("FILE");
  auto* show = command_->add_option("--show", shown_, "Show a profile that was written before")->type_name("FILE");
  command_->add_option("--diff", compared_, "Show what differs between two profiles")
      ->type_name("BEFORE AFTER")
      ->excludes(show)
      ->excludes(output);  // of a difference there is no profile to be written
}

ProfileMeasure ProfileCommand::measure() const {
  return allocated_ ? ProfileMeasure::kAllocated : peak_ ? ProfileMeasure::kPeak : ProfileMeasure::kLive;
}

ProfileCommand::Files::Files(const ProfileCommand& command) {
  if (!command.out_file_.empty()) profile.emplace(command.out_file_, Readers::kOwner);
  if (!command.collapsed_file_.empty()) collapsed.emplace(command.collapsed_file_);
  if (!command.json_file_.empty()) json.emplace(command.json_file_);
}

// The table first: it is there, even if a file cannot be written.
void ProfileCommand::show(const HeapProfileFile& profile, PeopleText people, Files& files) const {
  const auto write = [](std::optional<OutputFile>& file, const std::string& text) {
    if (is_told_to_end()) return;
    file->put(text);
    file->finish();
  };
  people.tell(profile_table(profile, measure(), most_));
  if (files.profile) write(files.profile, profile.with_names());
  if (files.collapsed) write(files.collapsed, collapsed_stacks(profile, measure()));
  if (files.json) write(files.json, json_text(profile_json(profile), 2) + "\n");
  people.finish();
}

int ProfileCommand::execute() const {
  if (leads_to_output(out_file_) + leads_to_output(collapsed_file_) + leads_to_output(json_file_) > 1)
    throw UserError("two of -o, --collapsed and --json would write to standard output");
  const bool reads = !shown_.empty() || !compared_.empty();
  if (!shown_.empty() && !program_.empty()) throw UserError("--show reads a profile, and takes no program");
  if (!compared_.empty() && program_.size() != 1) throw UserError("--diff takes two profiles: --diff BEFORE AFTER");
  if (!reads && program_.empty())
    throw UserError("name a program, as in: snug profile ./job (or a process, --show, --diff)");
  const bool is_running = !reads && is_number(program_[0]) && program_.size() == 1;
  if (reads || is_running) refuse_options_of_runs();
  if (is_running) return show_running(program_[0]);
  if (!reads) return run_program();
  const HeldSignals signals(kEndingSignals);
  // The word behind BEFORE is where a program would stand.
  HeapProfileFile profile(shown_.empty() ? program_[0] : shown_);
  if (!compared_.empty()) profile.subtract(HeapProfileFile(compared_));
  Files files(*this);
  show(profile, PeopleText(is_output_taken()), files);
  return 0;
}

// A process that runs, or has run, has its settings.
void ProfileCommand::refuse_options_of_runs() const {
  for (const char* const option : {"--library", "--conf", "--distance"})
    if (command_->count(option) != 0)
      throw UserError(fmt::format("{} is of a program that is run, not of {}", option,
                                  !shown_.empty()      ? "--show"
                                  : !compared_.empty() ? "--diff"
                                                       : "a process that runs"));
}

// JSON or lines on standard output are for programs.
bool ProfileCommand::is_output_taken() const {
  return leads_to_output(out_file_) || leads_to_output(collapsed_file_) || leads_to_output(json_file_);
}

int ProfileCommand::show_running(const std::string& word) const {
  const auto process = process_number(word);
  const std::string written = LiveProcess(process).ask(ControlCommand::kProfileWrite);
  const HeldSignals signals(kEndingSignals);
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "profile.pb").string();
  write_output(file, written);
  const HeapProfileFile profile(file, static_cast<std::uint64_t>(process));
  Files files(*this);
  show(profile, PeopleText(is_output_taken()), files);
  return 0;
}

int ProfileCommand::run_program() const {
  int status = 0;
  {
    std::optional<HeldSignals> signals;  // looking up names takes long, and the folder has to go behind it
    const TemporaryFolder folder;
    Command command{program_, Environment::current(), "", "", ""};
    command.environment.preload(find_snug_library(library_));
    check_settings(configuration_);
    check_settings("profile:" + distance_);
    if (!configuration_.empty()) command.environment.configure_snug(configuration_);
    command.environment.configure_snug("profile:" + distance_ + ",profile_out:" + (folder.path() / "%p.pb").string());
    Files files(*this);
    command.output_to_errors = is_output_taken();
    const EndedProgram ended = run_passing_signals(command);
    signals.emplace(kEndingSignals);
    status = ended.status;
    const auto file = folder.path() / fmt::format("{}.pb", ended.pid);
    if (std::filesystem::exists(file)) {
      const HeapProfileFile profile(file.string(), static_cast<std::uint64_t>(ended.pid));
      show(profile, PeopleText(true), files);
    } else {
      say("snug: the program wrote no profile: it ended by _exit or a signal, or is not served "
          "(`snug doctor` tells)\n");
    }
  }
  if (WIFSIGNALED(status)) end_by_signal(WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace snug::tool
