// The snug command: its subcommands put together, and the one place where errors become a line and an exit status.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "classes/classes_command.h"
#include "command/program_arguments.h"
#include "command/usage_mistake.h"
#include "config/config_command.h"
#include "ctl_command/ctl_command.h"
#include "doctor/doctor_command.h"
#include "inspect_command/inspect_command.h"
#include "library/allocator_catalogue.h"
#include "measure/measure_command.h"
#include "print/say.h"
#include "process/child_process.h"
#include "profile_command/profile_command.h"
#include "record/record_command.h"
#include "replay_command/replay_command.h"
#include "report_command/leak_suppressions.h"
#include "report_command/report_command.h"
#include "run/run_command.h"
#include "snug/snug.h"
#include "stats_command/stats_command.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "top_command/top_command.h"
#include "trace_command/trace_command.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(Examples:
  snug run ./job                                           on snug instead of the system's malloc
  snug run --compare glibc,jemalloc ./job                  is it worth it?
  snug doctor ./job                                        does anything stand in the way?
  snug record -o job.trace ./job                           what does it allocate, and when?
  snug profile ./job                                       which stacks hold its memory?
  snug top                                                 what do running processes keep in memory?
  snug stats 1234                                          and one of them; snug ctl 1234 purge
  snug inspect 1234 0x7f2a41c04010                         what is this address, and what allocated it?
  snug report job.trace -o job.html                        what does that show? a page, and what to do
  snug replay job.trace --allocators glibc,jemalloc        which allocator serves that best?
  snug config                                              settings, and what is in force here
  snug classes dense                                       a size-class map, or the best one for a program
`snug run --help` tells more.)";

// "run, measure, … or classes", of the commands there are.
std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// Takes the numbers of the streams that the caller has closed (`2>&-`, say): the next file that the tool opens would
// get one, and what is said on standard error would stand in it. To read or write there fails as before, and programs
// find it closed.
void take_closed_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const int other_way = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", other_way | O_CLOEXEC) != descriptor) return;
  }
}

int run_tool(std::vector<std::string> arguments) {
  if (arguments == std::vector<std::string>{kPrintIdentityArgument}) return print_identity();
  CLI::App app("snug: run programs on the snug memory allocator, and compare it with others", "snug");
  // Not by snug_version(): that would bring the library's heap into the tool, which reads SNUG_CONF when it starts.
  app.set_version_flag("--version",
                       fmt::format("snug {}.{}.{}", SNUG_VERSION_MAJOR, SNUG_VERSION_MINOR, SNUG_VERSION_PATCH));
  app.footer(kExamples);
  app.require_subcommand(1);
  std::vector<std::string> program;
  const RunCommand run(app, program);
  const DoctorCommand doctor(app, program);
  const MeasureCommand measure(app, program);
  const RecordCommand record(app, program, [](const std::string& file) { const LeakSuppressions read(file); });
  const ProfileCommand profile(app, program);
  const StatsCommand stats(app);
  const TopCommand top(app);
  const CtlCommand ctl(app);
  const InspectCommand inspect(app);
  const ConfigCommand config(app);
  const ClassesCommand classes(app);
  const TraceCommand trace(app);
  const ReplayCommand replay(app);
  const ReportCommand report(app);
  if (arguments.empty())
    throw UserError(fmt::format("name a command: {} (snug --help tells more)", command_names(app)));
  const std::string first = arguments.front();
  if (first == "--") throw UserError("name a command before --, as in: snug run ls -l");
  const CLI::App* const command = find_command(app, first);
  if ((!first.starts_with('-') || first == "-") && command == nullptr) throw UserError(unknown_command(app, first));
  const bool takes_program =
      first == "run" || first == "doctor" || first == "measure" || first == "record" || first == "profile";
  if (takes_program) program = take_program(*command, arguments);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == EXIT_SUCCESS) return app.exit(error);  // help, or the version
    throw UserError(usage_mistake(app, error));
  }
  if (stats.chosen()) return stats.execute();
  if (top.chosen()) return top.execute();
  if (ctl.chosen()) return ctl.execute();
  if (inspect.chosen()) return inspect.execute();
  if (classes.chosen()) return classes.execute();
  if (trace.chosen()) return trace.execute();
  if (replay.chosen()) return replay.execute();
  if (report.chosen()) return report.execute();
  if (run.chosen()) return run.execute();
  if (doctor.chosen()) return doctor.execute();
  if (record.chosen()) return record.execute();
  if (profile.chosen()) return profile.execute();
  return measure.chosen() ? measure.execute() : config.execute();
}

}  // namespace

}  // namespace snug::tool

int main(int count, char** arguments) {
  snug::tool::take_closed_streams();
  snug::tool::take_child_signal();
  try {
    return snug::tool::run_tool({arguments + 1, arguments + count});
  } catch (const snug::tool::UserError& error) {
    snug::tool::say("snug: {}\n", snug::tool::printable(error.what()));
    return error.exit_status();
  } catch (const std::exception& error) {
    snug::tool::say("snug: unexpected: {}\n", snug::tool::printable(error.what()));
    return EXIT_FAILURE;
  }
}
