#include "measure/measure_command.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "config/configuration.h"
#include "library/snug_library.h"
#include "measure/instruction_counter.h"
#include "measure/resident_memory.h"
#include "measure/warm_memory.h"
#include "print/output_file.h"
#include "process/measured_process.h"
#include "process/program_report.h"
#include "process/served_proof.h"
#include "process/temporary_folder.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExamples = R"(Examples:
  snug measure sort -o /dev/null words.txt
  snug measure --on mimalloc --prove --json run.json ./job

The JSON (schema snug.run/1) holds how the run ended, an objection if the run does not count (it failed, or the
allocator did not serve it), times, peak RSS, faults, context switches, instructions (null where the machine does not
count them), RSS over time, and the figures that the program wrote to the file $SNUG_FIGURES. Its output is discarded.
What it leaves running in its process group is ended, and counted.

Exit status: 0 the JSON was written, whatever became of the program; 2 wrong usage; 126 or 127 if it cannot be executed;
128 + the signal that stopped the run.)";

// RSS over time in few enough points to be kept for each of thousands of runs.
class Timeline {
 public:
  void add(double seconds, std::uint64_t bytes) {
    if (bytes == 0) return;  // between fork and exec, or gone already
    last_ = bytes;
    if (calls_++ % stride_ != 0) return;
    points_.push_back({seconds, bytes});
    if (points_.size() >= kLimit) halve();
  }
  Json json() const {
    Json result = Json::array();
    for (const Point& point : points_) result.push_back({std::round(point.seconds * 1e4) / 1e4, point.bytes});
    return result;
  }
  std::uint64_t last() const { return last_; }

 private:
  static constexpr std::size_t kLimit = 128;
  struct Point {
    double seconds;
    std::uint64_t bytes;
  };

  void halve() {
    for (std::size_t i = 0; i < points_.size() / 2; ++i) points_[i] = points_[2 * i];
    points_.resize(points_.size() / 2);
    stride_ *= 2;
  }

  std::vector<Point> points_;
  std::size_t calls_ = 0;
  std::size_t stride_ = 1;
  std::uint64_t last_ = 0;
};

Json cost_json(const Measurement& cost) {
  return {{"wall_seconds", cost.wall_seconds},
          {"user_seconds", cost.user_seconds},
          {"system_seconds", cost.system_seconds},
          {"peak_rss_bytes", cost.peak_rss_bytes},
          {"minor_faults", cost.minor_faults},
          {"major_faults", cost.major_faults},
          {"voluntary_switches", cost.voluntary_switches},
          {"involuntary_switches", cost.involuntary_switches}};
}

Json figures_json(const std::filesystem::path& file) {
  Json figures = Json::object();
  for (const Figure& figure : read_figures(file)) {
    figures[figure.name] = {
        {"value", figure.value}, {"unit", figure.unit}, {"better", figure.higher_is_better ? "higher" : "lower"}};
  }
  return figures;
}

// Why the run does not count; empty if it does. The allocator's own count outweighs the linker's testimony.
std::string objection(const Measurement& cost, const std::string& name, const std::optional<Served>& served,
                      const std::optional<Bindings>& bindings, const std::string& last_words) {
  if (!cost.succeeded()) return cost.ending_text() + (last_words.empty() ? "" : ": " + last_words);
  if (served && served->allocations == 0) {
    return fmt::format(
        "not run on {}: no process proved an allocation (a static program, or one that ends by _exit or a signal, "
        "proves none)",
        name);
  }
  if (!served && bindings && !bindings->proven()) return fmt::format("not run on {}: {}", name, bindings->text());
  return {};
}

}  // namespace

MeasureCommand::MeasureCommand(CLI::App& app, const std::vector<std::string>& program) : program_(program) {
  command_ = app.add_subcommand("measure",
                                "snug measure [options] program [arguments...]\n"
                                "One run of a program on one allocator, and all it cost as JSON");
  command_->footer(kExamples);
  command_->add_option("--on", allocator_, "The allocator, as in snug run --compare")
      ->capture_default_str()
      ->type_name("NAME|PATH");
  command_->add_option("--library", library_, "The libsnug.so to use, instead of the one beside this tool")
      ->type_name("PATH");
  command_->add_option("--conf", configuration_, "Settings of snug, added to SNUG_CONF")->type_name("KEY:VALUE,...");
  command_->add_option("--timeout", time_limit_, "Kill the program after that time")
      ->check(number_within(kLeastTimeLimit, kMostTimeLimit))
      ->type_name("SECONDS");
  command_->add_option("--sample", sample_milliseconds_, "Time between two looks at the program's RSS")
      ->check(number_within(1.0, 10000.0))
      ->capture_default_str()
      ->type_name("MILLISECONDS");
  command_->add_flag("--prove", prove_,
                     "Let the allocator say its version and the dynamic linker what serves malloc; slows the start");
  command_
      ->add_option("--warm", warm_mebibytes_,
                   "Touch and free that much memory first, so that a hypervisor that takes free pages away does not "
                   "make the run pay for getting them back")
      ->check(number_within(0, 1 << 20))
      ->type_name("MIB");
  command_->add_option("--json", json_file_, "Where to write the JSON; - is standard output")
      ->capture_default_str()
      ->type_name("FILE");
}

int MeasureCommand::execute() const {
  if (program_.empty()) throw UserError("snug measure: name a program, as in: snug measure ls -l");
  check_settings(configuration_);
  read_settings();  // says what is wrong in SNUG_CONF: what the program says of it is not shown
  Allocator allocator = find_allocator(allocator_, find_snug_library(library_));
  OutputFile file(json_file_);  // opened before hours of a run, not after them
  const HeldSignals signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  std::string refusal;
  bool counts_served = allocator.is_snug;  // what is called snug has to; another library may
  if (!counts_served && has_settings(allocator)) counts_served = identify(allocator, signals).counts_served;
  if (prove_) {
    const Identity identity = identify(allocator, signals);
    allocator.version = identity.version;
    if (identity.malloc_library != allocator.library) {
      refusal = fmt::format("not run on {}: preloaded, it leaves malloc to {}", allocator_, identity.malloc_library);
    }
  }

  const TemporaryFolder folder;
  Command command{.arguments = program_,
                  .environment = Environment::current(),
                  .input = "/dev/null",
                  .output = "/dev/null",
                  .errors = folder.path() / "errors",
                  .group = ProcessGroup::kOwn,
                  .huge_pages = allocator.huge_pages};
  command.environment.preload(allocator.library);
  command.environment.set("SNUG_FIGURES", folder.path() / "figures");
  if (allocator.is_snug && !configuration_.empty()) command.environment.configure_snug(configuration_);
  if (counts_served) request_count(command.environment, folder.path());
  if (prove_ && can_request_bindings()) request_bindings(command.environment, folder.path());

  if (!warm_memory(warm_mebibytes_ << 20))
    throw UserError(fmt::format("--warm {}: the system does not give that much memory", warm_mebibytes_));
  Timeline timeline;
  ResidentMemory resident(std::filesystem::weakly_canonical(allocator.library));
  const InstructionCounter instructions;
  const Measurement cost = measure(
      command, signals, time_limit_, [&](pid_t pid, double elapsed) { timeline.add(elapsed, resident.largest(pid)); },
      sample_milliseconds_ / 1000);

  std::optional<Served> served;
  if (counts_served) served = count_served(folder.path());
  std::optional<Bindings> bindings;
  if (prove_ && can_request_bindings()) bindings = read_bindings(folder.path(), allocator.library);
  if (refusal.empty()) refusal = objection(cost, allocator_, served, bindings, last_line(folder.path() / "errors"));

  Json json = {{"schema", "snug.run/1"},
               {"allocator", allocator_},
               {"library", allocator.library},
               {"version", allocator.version},
               {"program", program_},
               {"ending", cost.ending_name()},
               {"code", cost.code},
               {"objection", refusal},
               {"cost", cost_json(cost)}};
  const auto counted = instructions.read();
  json["cost"]["instructions"] = counted ? Json(*counted) : Json();
  json["cost"]["last_rss_bytes"] = timeline.last();
  json["figures"] = figures_json(folder.path() / "figures");
  json["rss"] = timeline.json();
  json["left_running"] = cost.left_running;
  if (served) json["served"] = {{"allocations", served->allocations}, {"processes", served->processes}};
  if (bindings) json["malloc_bindings"] = {{"programs", bindings->programs}, {"bound", bindings->bound}};

  file.put(json_text(json) + '\n');
  file.finish();
  return cost.ending == Ending::kInterrupted ? 128 + cost.code : EXIT_SUCCESS;
}

}  // namespace snug::tool
