// The snug command: its subcommands put together, and the one place where errors become a line and an exit status.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "allocator_catalogue.h"
#include "classes_command.h"
#include "config_command.h"
#include "measure_command.h"
#include "printable.h"
#include "run_command.h"
#include "snug/snug.h"
#include "user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(Examples:
  snug run -- python3 job.py                               on snug instead of the system's malloc
  snug run --compare glibc,jemalloc -- python3 job.py      is it worth it?
  snug config                                              settings, and what is in force here
  snug classes dense                                       a size-class map, or the best one for a program
`snug run --help` tells more.)";

// The first "--" ends the tool's options: what follows belongs to the program, whatever it looks like.
std::vector<std::string> split_program(std::vector<std::string>& arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  if (mark == arguments.end()) return {};
  std::vector<std::string> program(mark + 1, arguments.end());
  arguments.erase(mark, arguments.end());
  return program;
}

int run_tool(std::vector<std::string> arguments) {
  if (arguments == std::vector<std::string>{kPrintIdentityArgument}) return print_identity();
  std::vector<std::string> program = split_program(arguments);
  CLI::App app("snug: run programs on the snug memory allocator, and compare it with others", "snug");
  app.set_version_flag("--version",
                       fmt::format("snug {}.{}.{}", SNUG_VERSION_MAJOR, SNUG_VERSION_MINOR, SNUG_VERSION_PATCH));
  app.footer(kExamples);
  app.require_subcommand(1);
  const RunCommand run(app, program);
  const MeasureCommand measure(app, program);
  const ConfigCommand config(app);
  const ClassesCommand classes(app);
  if (arguments.empty()) {
    throw UserError(program.empty() ? "name a command: run, measure, config or classes (snug --help tells more)"
                                    : "name a command before --, as in: snug run -- ls -l");
  }
  const std::string first = arguments.front();
  const auto is_first = [&](const CLI::App* command) { return command->get_name() == first; };
  if ((!first.starts_with('-') || first == "-") && app.get_subcommands(is_first).empty())
    throw UserError(fmt::format("'{}' is no command (snug --help lists them)", first));
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::ExtrasError& error) {
    const bool takes_program = first == "run" || first == "measure";
    throw UserError(fmt::format("{} ({})", error.what(),
                                takes_program
                                    ? fmt::format("a program stands behind --, as in: snug {} -- ls -l", first)
                                    : "--help tells more"));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == EXIT_SUCCESS) return app.exit(error);  // help, or the version
    if (app.get_subcommands().empty())
      throw UserError(fmt::format("'{}' is no option, or no command stands behind it (snug --help lists both)", first));
    throw UserError(fmt::format("{} (--help tells more)", error.what()));
  }
  if (classes.chosen()) return classes.execute();
  if (run.chosen()) return run.execute();
  return measure.chosen() ? measure.execute() : config.execute();
}

}  // namespace

}  // namespace snug::tool

int main(int count, char** arguments) {
  try {
    return snug::tool::run_tool({arguments + 1, arguments + count});
  } catch (const snug::tool::UserError& error) {
    fmt::print(stderr, "snug: {}\n", snug::tool::printable(error.what()));
    return error.exit_status();
  } catch (const std::exception& error) {
    fmt::print(stderr, "snug: unexpected: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
