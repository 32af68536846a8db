#include "run/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compare/comparison_json.h"
#include "compare/comparison_table.h"
#include "config/configuration.h"
#include "doctor/diagnosis.h"
#include "library/snug_library.h"
#include "print/output_file.h"
#include "print/people_text.h"
#include "print/say.h"
#include "print/table.h"
#include "run/reported_run.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::size_t kHelpColumns = 68;  // beside the options

constexpr const char* kExamples = R"(Examples:
  snug run redis-server --port 7000
      Runs redis-server on snug, as if started without the tool: its exit status and signals are the tool's.
      If something stands in the way, one line says what; `snug doctor redis-server` tells more.
  snug run --report python3 job.py
      The same, then prints what snug did in each process, that which allocated most first, and where its memory
      lay at the peak.
  snug run --conf purge_after:0 ./server
      With a setting of SNUG_CONF; `snug config` lists them.
  snug run --compare glibc,jemalloc,mimalloc -n 7 sort -o /dev/null words.txt
      Seven runs on each allocator, interleaved; one table of medians, and what they prove.
  snug run --compare glibc,./build/libmine.so --check-output --json=result.json ./job

Options of snug stand before the program; -- may stand between.

A name with -nothp behind it runs without transparent huge pages: mimalloc-nothp.
A program may measure itself: a JSON object {"load": {"value": 1.2, "unit": "op/s", "better": "higher"}} that it
writes to the file $SNUG_FIGURES becomes a row of the table. Times and memory are compared whatever their units; snug
refuses a figure with a unit that differs otherwise between runs, and does not count a run with one below 0.

What a run leaves running in its process group snug ends before the next, and says so.

Exit status: the program's own; 126 or 127 if it cannot be executed. With --compare: 0; 1 if a run failed or was not
served by its allocator, or if output or a figure's unit differs; 128 + the signal that stopped it.)";

}  // namespace

RunCommand::RunCommand(CLI::App& app, const std::vector<std::string>& program) : program_(program) {
  command_ = app.add_subcommand("run",
                                "snug run [options] program [arguments...]\n"
                                "Run a program on snug, or compare it on several allocators");
  command_->footer(kExamples);
  command_->add_option("--library", library_, "The libsnug.so to use, instead of the one beside this tool")
      ->type_name("PATH");
  command_->add_option("--conf", configuration_, "Settings of snug, added to SNUG_CONF")->type_name("KEY:VALUE,...");
  auto* report = command_->add_flag("--report", report_,
                                    "At the end, print on stderr what snug did in each process,\n"
                                    "and where the largest one's memory lay at its peak");
  command_->add_flag("--all", all_processes_,
                     "With --report: a row for each process, also for those that\n"
                     "allocated next to nothing");
  command_
      ->add_option(
          "--compare", compare_,
          // Lines that fit a terminal: CLI11 breaks none by itself, and indents what stands behind a break.
          fmt::format("{}", fmt::join(wrapped(fmt::format("Run on snug and on each of these allocators: {}, or "
                                                          "the path of a library, which NAME= before it names",
                                                          fmt::join(known_allocators(), ", ")),
                                              kHelpColumns),
                                      "\n")))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME|[NAME=]PATH,...")
      ->excludes(report);
  const std::string group = "With --compare";
  const auto only_compared = [&](CLI::Option* option) {
    comparison_options_.push_back(option->group(group));
    return option;
  };
  only_compared(command_->add_option("-n,--rounds", rounds_, "Rounds; each runs every allocator once"))
      ->check(number_within(1, 10000))
      ->capture_default_str()
      ->type_name("N");
  only_compared(command_->add_option("--warmup", warmup_rounds_,
                                     "Rounds before those, not counted; the first proves what serves malloc"))
      ->check(number_within(0, 100))
      ->capture_default_str()
      ->type_name("N");
  only_compared(command_->add_option("--seed", seed_, "Seed of the order within each round"))
      ->check(number_within(std::uint64_t{0}, UINT64_MAX))
      ->capture_default_str()
      ->type_name("N");
  only_compared(command_->add_option("--timeout", time_limit_, "Kill a run that takes longer; it counts as failed"))
      ->check(number_within(kLeastTimeLimit, kMostTimeLimit))
      ->type_name("SECONDS");
  only_compared(
      command_->add_option(
          "--min-served", min_served_,
          "Allocations that snug, and each library that counts, must prove in each run, else it does not count"))
      ->check(number_within(std::uint64_t{0}, UINT64_MAX))
      ->capture_default_str()
      ->type_name("N");
  only_compared(command_->add_option("--input", input_, "File for the program's standard input"))
      ->check(CLI::Validator(
          [](const std::string& file) {
            return access(file.c_str(), R_OK) == 0 ? ""
                                                   : fmt::format("cannot read '{}': {}", file, std::strerror(errno));
          },
          ""))
      ->capture_default_str()
      ->type_name("FILE");
  auto* show =
      only_compared(command_->add_flag("--show-output", show_output_, "Do not discard what the program writes"));
  only_compared(
      command_->add_flag("--check-output", check_output_, "Fail if standard output is not the same in every run"))
      ->excludes(show);
  json_option_ = command_
                     ->add_option("--json", json_file_,
                                  "Write the comparison, or the report, as JSON to FILE; without\n"
                                  "FILE to stdout, and the table, and what --show-output shows,\n"
                                  "to stderr")
                     ->expected(0, 1)
                     ->default_str(kStandardOutput)
                     ->type_name("[=FILE]");
}

void RunCommand::refuse_options_without_comparison() const {
  for (const CLI::Option* option : comparison_options_) {
    if (option->count() > 0) throw UserError(fmt::format("{} needs --compare", option->get_name()));
  }
  if (json_option_->count() > 0 && !report_) throw UserError("--json needs --compare or --report");
}

int RunCommand::execute() const {
  if (program_.empty()) throw UserError("snug run: name a program, as in: snug run ls -l");
  if (compare_.empty()) refuse_options_without_comparison();
  if (all_processes_ && !report_) throw UserError("--all needs --report");
  check_settings(configuration_);
  const std::string library = find_snug_library(library_);
  const std::string line = hindrance(program_.front(), Environment::current());
  if (!line.empty()) say("snug: {}\n", printable(line));
  if (!compare_.empty()) return execute_comparison(library);
  Command command{
      .arguments = program_, .environment = Environment::current(), .input = {}, .output = {}, .errors = {}};
  command.environment.preload(library);
  if (!configuration_.empty()) command.environment.configure_snug(configuration_);
  if (report_) {
    std::optional<OutputFile> json = json_file();
    const ProcessRows rows = all_processes_ ? ProcessRows::kAll : ProcessRows::kLarge;
    return run_with_report(std::move(command), rows, json ? &*json : nullptr);
  }
  become(command.arguments, command.environment);
}

// Where the JSON goes, opened before hours of runs, not after them; none if none is asked for.
std::optional<OutputFile> RunCommand::json_file() const {
  if (json_option_->count() == 0) return std::nullopt;
  return std::optional<OutputFile>(std::in_place, json_file_.empty() ? kStandardOutput : json_file_);
}

int RunCommand::execute_comparison(const std::string& library) const {
  read_settings();  // says what is wrong in SNUG_CONF: what the program says of it is not shown
  ComparisonPlan plan{.program = program_,
                      .allocators = find_allocators(compare_, library, "--compare"),
                      .snug_configuration = configuration_,
                      .input = input_,
                      .rounds = rounds_,
                      .warmup_rounds = warmup_rounds_,
                      .seed = seed_,
                      .time_limit = time_limit_,
                      .min_served = min_served_,
                      .show_output = show_output_,
                      .check_output = check_output_};
  std::optional<OutputFile> json = json_file();
  const bool to_standard_output = json && json->is_standard_output();
  plan.output_to_errors = to_standard_output;
  const Comparison comparison = compare(plan);
  const std::size_t width = terminal_width(to_standard_output ? STDERR_FILENO : STDOUT_FILENO);
  PeopleText people(to_standard_output);
  people.tell(comparison_table(comparison, width));
  if (json) {
    json->put(json_text(comparison_json(comparison, read_host()), 2) + "\n");
    json->finish();
  }
  people.finish();
  if (comparison.given_up) {
    say("snug: given up after one round: the program fails on every allocator\n{}", *comparison.given_up);
  }
  if (comparison.interrupted_by != 0) return 128 + comparison.interrupted_by;
  return comparison.clean() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace snug::tool
