#include "report_command/report_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "input/moment.h"
#include "input/process_option.h"
#include "input/trace_input.h"
#include "library/allocator_catalogue.h"
#include "library/snug_library.h"
#include "print/output_file.h"
#include "print/people_text.h"
#include "print/say.h"
#include "report_command/leak_table.h"
#include "report_command/report_check.h"
#include "report_command/report_data.h"
#include "report_command/report_page.h"
#include "report_command/report_text.h"
#include "report_command/what_if.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  snug record --stacks -o job.trace ./job
  snug report job.trace
      What stands out, in at most five sentences, and what to do about each.
  snug report job.trace -o job.html
      The same as a page: memory over time, flame graphs of what lives at the peak, is allocated, stays and is
      short-lived, sizes, lifetimes, threads; and what other allocators would need for it. One file that needs nothing
      else; open it in a browser.
  snug report job.trace --replay glibc,jemalloc,mimalloc -o job.html
      Replayed on snug and on these.
  snug report job.trace --at peak -o peak.html
      As if the recording had ended where most bytes lived.
  snug report new.trace --against old.trace -o new.html
      What is more and what is less than in another recording, by function.
  snug report job.trace --check 'peak<200M,leaked<1M'
      For a test: ends with 1, and says by what, if the recording does not keep these limits.
  snug report job.trace --check 'leaked<1M' --suppressions lsan.supp
      The same without what is never freed on purpose: lines as leak:make_table, as LeakSanitizer reads them.
  snug report job.trace --leaks
      What lives where the recording ends, by stack: what snug record --leaks says of a program at once.

Functions are named if the recording has stacks (snug record --stacks). Short-lived are blocks that their thread frees
within --temporary of its own calls. What a block takes is told as of snug's size classes.

Exit status: 0; 1 if a limit of --check is not kept; 2 for wrong usage; 3 if all was well but the trace, which is damaged
and was read as far as it could be, or is empty.)";

// A recording with all that is derived from it.
struct Read {
  // A tree that is compared keeps all its nodes: what one has and the other has not would be told as a difference.
  Read(const std::string& path, const std::string& process, std::uint64_t temporary_events, std::size_t most_nodes,
       const std::string& at, LeakSuppressions* suppressions = nullptr)
      : input(path, Telling::kAll, process),
        history(until(input, at), temporary_events),
        tree(history, Symbols(history.stacks(), perf_map_of(input, history.stacks(), history.last_time())), most_nodes,
             suppressions),
        owners(tree),
        trace(reported_trace(input, history, process.empty() && input.index().processes().size() > 1)) {}

  static TraceInput& until(TraceInput& input, const std::string& at) {
    if (!at.empty()) input.end_at(moment_of(at, input));
    return input;
  }

  TraceInput input;
  HeapHistory history;
  CallTree tree;
  CallOwners owners;
  ReportedTrace trace;
};

std::string dumped(const nlohmann::ordered_json& data) { return json_text(data, 2) + "\n"; }

int exit_status(PeopleText& people, bool is_damaged) {
  people.finish();
  return is_damaged ? kExitDamaged : EXIT_SUCCESS;
}

}  // namespace

ReportCommand::ReportCommand(CLI::App& app) {
  command_ = app.add_subcommand("report",
                                "snug report FILE [options]\n"
                                "What a recording shows: sentences, a page, limits for tests");
  command_->footer(kExamples);
  command_->add_option("FILE", file_, "The trace")->required();
  add_process_option(*command_, process_);
  command_->add_option("-o,--output", page_file_, "Write the page there, .html")->type_name("FILE");
  command_->add_flag("--force", forces_, "Overwrite what is there");
  json_option_ =
      command_
          ->add_option(
              "--json", json_file_,
              "Write all that the page shows as JSON to FILE; without FILE, to stdout, and the sentences to stderr")
          ->expected(0, 1)
          ->default_str(kStandardOutput)
          ->type_name("[=FILE]");
  check_option_ = command_
                      ->add_option("--check", limits_,
                                   "Limits that it has to keep, instead of sentences: <, <=, > or >= a number, of "
                                   "bytes also as 200M or 1G, of " +
                                       check_names())
                      ->type_name("LIMIT,...");
  suppressions_option_ =
      command_
          ->add_option("--suppressions", suppressions_,
                       "What is never freed on purpose: lines leak:PATTERN, as LeakSanitizer has them; no finding, and "
                       "not counted by --check leaked")
          ->type_name("FILE");
  auto* leaks = command_->add_flag("--leaks", shows_leaks_,
                                   "Instead of sentences what is never freed, stack by stack; --json: the same");
  auto* against = command_->add_option("--against", against_, "Another recording, to compare with")->type_name("FILE");
  command_->add_option("--against-process", against_process_, "Of that recording which process, as --process")
      ->check(not_empty())
      ->needs(against)
      ->type_name("N|NAME");
  auto* no_replay =
      command_->add_flag("--no-replay", replays_not_, "Do not replay it: the page is made in half of the time");
  replay_option_ = command_
                       ->add_option("--replay", allocators_,
                                    "Replay on snug and on each of these: asked for by -o and --json as well, unless "
                                    "--no-replay stands there; on the C library's unless given")
                       ->delimiter(',')
                       ->allow_extra_args(false)
                       ->capture_default_str()
                       ->excludes(no_replay)
                       ->type_name("NAME|[NAME=]PATH,...");
  auto* const recorded_speed =
      command_
          ->add_flag("--recorded-speed", as_recorded_,
                     "Replay no faster than it was recorded: for allocators that purge by threads of their own")
          ->excludes(no_replay);
  add_moment_option(
      *command_, at_,
      "Only what comes until this moment, of both recordings, and no replay: what stays is what lives then")
      ->excludes(replay_option_)
      ->excludes(recorded_speed);
  command_->add_option("--temporary", temporary_events_, "Short-lived: freed within so many calls of its thread")
      ->check(number_within(std::uint64_t{1}, std::uint64_t{1000000}))
      ->capture_default_str()
      ->type_name("N");
  command_->add_option("--library", library_, "The libsnug.so to replay on, instead of the one beside this tool")
      ->type_name("PATH");
  for (const char* const other : {"-o", "--check", "--against", "--replay", "--recorded-speed"})
    leaks->excludes(command_->get_option(other));
}

// Before a long reading, not after it. Nothing is made of what may be refused yet.
void ReportCommand::expect_outputs() const {
  if (!page_file_.empty() && !has_report_page()) report_page({});
  if (leads_to_output(page_file_) && writes_json_to_standard_output())
    throw UserError("-o - and --json without a FILE both write to standard output");
  for (const std::string& path : {page_file_, json_file_}) {
    if (path.empty() || path == kStandardOutput) continue;
    expect_other_file(file_, path);
    if (!against_.empty()) expect_other_file(against_, path);
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) throw UserError(fmt::format("cannot write '{}': it is a folder", path));
    if (!forces_ && fs::is_regular_file(status) && fs::file_size(path, error) != 0)
      throw UserError(fmt::format("'{}' is there already; --force overwrites it", path));
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    if (access(fs::exists(status) ? path.c_str() : folder.c_str(), W_OK) != 0)
      throw UserError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  }
  if (!against_.empty()) TraceInput(against_, Telling::kNothing, against_process_);
  if (!json_file_.empty() && json_file_ != kStandardOutput && names_one_file(page_file_, json_file_))
    throw UserError(fmt::format("-o and --json name one file, '{}'", json_file_));
}

bool ReportCommand::writes_json_to_standard_output() const {
  return json_option_->count() > 0 && (json_file_.empty() || leads_to_output(json_file_));
}

bool ReportCommand::replays() const {
  if (shows_leaks_) return false;
  const bool wants_data = json_option_->count() > 0 || !page_file_.empty();
  return (wants_data && !replays_not_ && at_.empty()) || asks_for_replay();
}

void ReportCommand::write(const std::string& path, const std::string& text) {
  if (path.empty() || path == kStandardOutput) return write_output(kStandardOutput, text);
  write_output(path, text);
  say("snug report: {}, {} KiB\n", printable(path), text.size() / 1024 + 1);
}

int ReportCommand::show_leaks(LeakSuppressions* suppressions) const {
  const Read read(file_, process_, temporary_events_, SIZE_MAX, at_, suppressions);
  const LeakTable leaks(read.tree);
  PeopleText people(writes_json_to_standard_output());
  people.tell(leaks.text(read.trace, read.history));
  if (suppressions != nullptr) people.tell("\n" + suppressions->text());
  if (!read.trace.has_stacks) people.tell("With stacks this names functions: snug record --stacks.\n");
  if (json_option_->count() > 0) write(json_file_, dumped(leaks.json(read.trace, read.history, suppressions)));
  return exit_status(people, read.input.is_damaged() || read.history.impossible() != 0 || read.history.events() == 0);
}

int ReportCommand::execute() const {
  const std::optional<ReportCheck> check =
      check_option_->count() == 0 ? std::nullopt : std::optional<ReportCheck>(limits_);
  std::optional<LeakSuppressions> suppressions;
  if (suppressions_option_->count() != 0) suppressions.emplace(suppressions_);
  expect_outputs();
  if (shows_leaks_) return show_leaks(suppressions ? &*suppressions : nullptr);
  std::vector<Allocator> allocators;
  if (replays()) allocators = find_allocators(allocators_, find_snug_library(library_), "--replay");
  const bool wants_json = json_option_->count() > 0;
  const std::size_t most_nodes = against_.empty() ? kMostNodes : SIZE_MAX;
  Read read(file_, process_, temporary_events_, most_nodes, at_, suppressions ? &*suppressions : nullptr);
  const BlockSums suppressed = suppressions ? suppressions->suppressed() : BlockSums();
  const std::vector<ReportFinding> findings = find(read.history, read.owners, read.trace.has_stacks);
  PeopleText people(writes_json_to_standard_output() || leads_to_output(page_file_));
  bool is_damaged = read.input.is_damaged();
  bool kept = true;
  if (check) {
    for (const ReportCheck::Verdict& verdict :
         check->judge(read.history, read.owners, read.trace.has_stacks, suppressed)) {
      people.tell(verdict.line + "\n");
      kept = kept && verdict.holds;
    }
  } else {
    people.tell(report_text(read.trace, read.history, findings));
  }
  if (suppressions) people.tell((check ? "" : "\n") + suppressions->text());
  const bool wants_data = wants_json || !page_file_.empty();
  nlohmann::ordered_json data;
  if (wants_data) data = report_json(read.trace, read.history, read.tree, findings, temporary_events_);
  if (wants_data && suppressions) data["suppressions"] = suppressions_json(*suppressions);
  if (!against_.empty()) {
    const Read other(against_, against_process_, temporary_events_, most_nodes, at_);
    is_damaged = is_damaged || other.input.is_damaged();
    people.tell("\n" + against_text(read.owners, other.owners));
    if (wants_data) {
      const std::vector<int> places = read.tree.find_nodes(other.tree);
      data["against"] = against_json(other.trace, other.history, other.tree, places, temporary_events_);
      data["nodes"] = nodes_json(read.tree);
      data["series"].get_ref<nlohmann::ordered_json::array_t&>().resize(read.tree.nodes().size(),
                                                                        nlohmann::ordered_json::array());
    }
  }
  if (replays()) {
    const WhatIf what_if = replay_for_report(read.input, {.allocators = allocators, .as_recorded = as_recorded_});
    if (what_if.interrupted_by != 0) return 128 + what_if.interrupted_by;
    if (!check || asks_for_replay()) people.tell("\n" + what_if_text(what_if.table));
    if (wants_data) {
      data["what_if"] = what_if.table;
      data["map"] = what_if.map;
    }
  }
  if (!page_file_.empty()) write(page_file_, report_page(data));
  if (wants_json) write(json_file_, dumped(data));
  is_damaged = is_damaged || read.history.impossible() != 0 || read.history.events() == 0;
  const int status = exit_status(people, is_damaged);
  return kept ? status : EXIT_FAILURE;
}

}  // namespace snug::tool
