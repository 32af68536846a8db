#include "replay_command/replay_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "classes/classes_plot.h"
#include "compare/host.h"
#include "config/configuration.h"
#include "input/process_option.h"
#include "library/snug_library.h"
#include "print/output_file.h"
#include "print/people_text.h"
#include "print/say.h"
#include "print/table.h"
#include "replay_command/components.h"
#include "replay_command/replay_comparison.h"
#include "replay_command/replay_json.h"
#include "replay_command/replay_plot.h"
#include "replay_command/replay_table.h"
#include "replay_command/window_choice.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/user_error.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples =
    R"(Makes the calls of a trace again, on snug and on each of the allocators: every call of the malloc family and of
operators new and delete, in threads that are born and end as recorded. Each thread's order is kept, and that of
hand-overs: a thread frees another one's block after it has come, and in the turn that it had. What the program
did besides is left out, and so the allocators can be told apart.

The trace is read in windows, while all threads stand still and the clock is stopped.

Examples:
  snug record -o job.trace ./job
  snug replay job.trace --allocators glibc,jemalloc,mimalloc
      Six rounds on each, interleaved; one table of medians, and what they prove.
  snug replay job.trace --allocators glibc -n 1 --warmup 0 --plot job.svg --ticks
      Once on each: a picture of memory over time, and what each kind of call took.
  snug replay job.trace --process python3
      Of a recording of several processes this one, and not the one that allocates most.
  snug replay job.trace --component cell,compact,tlsf --region 1G --kappa 2
      Also on heaps that are no malloc.
  snug replay job.trace --speed recorded --touch first
      Calls come when they came, and only the first byte of each block is written.

RSS is that of the replayer without the memory that it shares with this tool. It differs from the program's by what the
program has besides blocks.

Exit status: 0; 1 if a run failed or was not served by its allocator; 3 if all was well but the trace, which is damaged
and was replayed as far as it could be read, or is empty; 128 + the signal that stopped it.)";

}  // namespace

ReplayCommand::ReplayCommand(CLI::App& app) {
  command_ = app.add_subcommand("replay",
                                "snug replay FILE [options]\n"
                                "Replay a trace on several allocators, and compare them");
  command_->footer(kExamples);
  command_->add_option("FILE", file_, "The trace")->required();
  add_process_option(*command_, process_);
  command_
      ->add_option("--allocators", allocators_,
                   "Replay on snug and on each of these: names as of `snug run --compare`, or paths of libraries")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str()
      ->type_name("NAME|[NAME=]PATH,...");
  command_
      ->add_option("--touch", touch_,
                   "What is written of a block: nothing, its first byte, all of it, or what the program had touched "
                   "when it was recorded (default: recorded if the trace says that, otherwise all)")
      ->check(CLI::IsMember({"none", "first", "all", kTouchRecorded}))
      ->type_name("none|first|all|recorded");
  command_
      ->add_option(
          "--speed", speed_,
          "Calls come one behind the other, or no earlier than they were recorded. At full speed the clock that "
          "allocators read goes on as recorded, so that what they give back by time goes")
      ->check(CLI::IsMember({"full", "recorded"}))
      ->capture_default_str()
      ->type_name("full|recorded");
  command_->add_option("--library", library_, "The libsnug.so to use, instead of the one beside this tool")
      ->type_name("PATH");
  command_->add_option("--conf", configuration_, "Settings of snug, added to SNUG_CONF")->type_name("KEY:VALUE,...");
  add_components();
  add_rounds();
  add_outputs();
}

void ReplayCommand::add_components() {
  auto* component =
      command_
          ->add_option(
              "--component", components_,
              "Also on heaps that are no malloc, called directly: snug's cell heap, its pools, its compacting heap, "
              "and TLSF, behind one lock each")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(CLI::IsMember(component_names()))
          ->type_name("cell|pool|compact|tlsf,...");
  command_
      ->add_option("--region", region_bytes_, "Of the cell heap: the one region that it has, in bytes or as 512M, 2G")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->check(number_within(std::uint64_t{1} << 16, std::uint64_t{1} << 40))
      ->default_str("16G")
      ->needs(component)
      ->type_name("BYTES");
  command_->add_option("--kappa", kappa_, "Of the compacting heap: the pages of a class that may have a free block")
      ->check(number_within(1, 1 << 20))
      ->needs(component)
      ->capture_default_str()
      ->type_name("N");
  command_
      ->add_option("--tlsf", tlsf_,
                   "Of TLSF: the library, where it is not among the peers (bench/harness/allocators/fetch tlsf)")
      ->needs(component)
      ->type_name("PATH");
}

void ReplayCommand::add_rounds() {
  command_->add_option("-n,--rounds", rounds_, "Rounds; each replays once on every allocator")
      ->check(number_within(1, 10000))
      ->capture_default_str()
      ->type_name("N");
  command_
      ->add_option("--warmup", warmup_rounds_, "Rounds before those, not counted; the first proves what serves malloc")
      ->check(number_within(0, 100))
      ->capture_default_str()
      ->type_name("N");
  command_->add_option("--seed", seed_, "Seed of the order within each round")
      ->check(number_within(std::uint64_t{0}, UINT64_MAX))
      ->capture_default_str()
      ->type_name("N");
  command_->add_option("--timeout", time_limit_, "Kill a replay that takes longer; it counts as failed")
      ->check(number_within(kLeastTimeLimit, kMostTimeLimit))
      ->type_name("SECONDS");
}

void ReplayCommand::add_outputs() {
  command_->add_flag("--ticks", shows_ticks_,
                     "Also print what calls took, by operation: ticks of the processor's clock");
  command_->add_flag("--sizes", shows_sizes_, "The same by operation and size");
  command_->add_option("--plot", plot_file_, "A picture of RSS and live bytes over time, .svg or .png")
      ->type_name("FILE");
  json_option_ = command_
                     ->add_option("--json", json_file_,
                                  "Write it all as JSON to FILE; without FILE, to stdout (and the table to stderr)")
                     ->expected(0, 1)
                     ->default_str(kStandardOutput)
                     ->type_name("[=FILE]");
}

ComparisonPlan ReplayCommand::comparison_plan() const {
  check_settings(configuration_);
  read_settings();  // says what is wrong in SNUG_CONF: what the replayer says of it is not shown
  const std::string library = find_snug_library(library_);
  ComparisonPlan plan{.program = {"snug", "replay", file_},
                      .allocators = find_allocators(allocators_, library, "--allocators"),
                      .snug_configuration = configuration_,
                      .rounds = rounds_,
                      .warmup_rounds = warmup_rounds_,
                      .seed = seed_,
                      .time_limit = time_limit_};
  for (const auto& [option, component] : {std::pair("--region", "cell"), {"--kappa", "compact"}, {"--tlsf", "tlsf"}})
    if (command_->count(option) != 0 && std::ranges::find(components_, component) == components_.end())
      throw UserError(fmt::format("{} is of --component {}, which is not asked for", option, component));
  for (auto name = components_.begin(); name != components_.end(); ++name) {
    const auto has_name = [&](const Allocator& allocator) { return allocator.name == *name; };
    if (std::ranges::any_of(plan.allocators, has_name))
      throw UserError(fmt::format("--component: '{}' stands there twice", *name));
    plan.allocators.push_back(find_component(*name, tlsf_));
  }
  return plan;
}

int ReplayCommand::execute() const {
  if (!plot_file_.empty()) {
    expect_plot_name(plot_file_);
    expect_other_file(file_, plot_file_);
  }
  TraceInput input(file_, Telling::kNothing, process_);
  input.expect_events();
  if (process_.empty()) say("{}", input.choice_text());
  const ReplayPlan plan{
      .file = file_,
      .process = std::to_string(input.process().number),
      .replayer = find_replayer(),
      .component = {.component = replayer::Component::kNone, .region_bytes = region_bytes_, .not_full = kappa_},
      .window = window_options(input, touch_, speed_ == "full" ? Pace::kFull : Pace::kRecorded),
      .time_limit = time_limit_};
  const bool to_standard_output = json_option_->count() > 0 && (json_file_.empty() || leads_to_output(json_file_));
  const ComparisonPlan comparison = comparison_plan();
  std::optional<OutputFile> json;  // opened before hours of runs, not after them
  if (json_option_->count() > 0) {
    if (!to_standard_output) expect_other_file(file_, json_file_);
    json.emplace(to_standard_output ? kStandardOutput : json_file_);
  }
  if (!plot_file_.empty()) const OutputFile writable(plot_file_);  // the same of the picture
  const ReplayComparison replays = compare_replays(plan, comparison);
  const TickDetail detail = shows_sizes_   ? TickDetail::kSizes
                            : shows_ticks_ ? TickDetail::kOperations
                                           : TickDetail::kNone;
  const std::size_t width = terminal_width(to_standard_output ? STDERR_FILENO : STDOUT_FILENO);
  PeopleText people(to_standard_output);
  people.tell(replay_table(replays, detail, width));
  if (json) {
    json->put(json_text(replay_json(replays, read_host()), 2) + "\n");
    json->finish();
  }
  const Comparison& result = replays.comparison;
  const bool shows_something = result.interrupted_by == 0 && !result.given_up;
  if (shows_something && !plot_file_.empty()) write_plot(plot_file_, replay_svg(replays));
  people.finish();  // behind all files
  if (result.given_up) {
    say("snug: given up after one round: the replay fails on every allocator\n{}", *result.given_up);
  }
  if (result.interrupted_by != 0) return 128 + result.interrupted_by;
  if (!result.clean()) return EXIT_FAILURE;
  return replays.is_damaged ? kExitDamaged : EXIT_SUCCESS;
}

}  // namespace snug::tool
