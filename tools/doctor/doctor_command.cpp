#include "doctor/doctor_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "doctor/diagnosis.h"
#include "print/table.h"
#include "text/json_text.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(Examples:
  snug doctor redis-server      would snug serve it?
  snug doctor ./job.py          of a script: what runs it
  snug doctor python3           of a shim, as pyenv's: the program that it becomes
  snug doctor 4711              which library serves malloc in this process, and would snug?
  snug doctor --json nginx

Nothing is run. A name of digits only is a process; ./4711 is a program.

Exit status: 0 nothing stands in the way; 1 something does; 2 wrong usage, or it cannot be looked into.)";

bool is_number(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
}

Diagnosis diagnose(const std::string& name) {
  if (name.empty() || !is_number(name)) return diagnose_program(name, Environment::current());
  pid_t pid = 0;
  if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc())
    throw UserError(fmt::format("no process {}", name));
  return diagnose_process(pid);
}

}  // namespace

DoctorCommand::DoctorCommand(CLI::App& app, const std::vector<std::string>& program) : program_(program) {
  command_ = app.add_subcommand("doctor",
                                "snug doctor [--json] program|pid\n"
                                "Say what stands in the way of running a program on snug, or that nothing does");
  command_->footer(kExamples);
  command_->add_flag("--json", json_, "As JSON");
}

int DoctorCommand::execute() const {
  if (program_.empty()) throw UserError("snug doctor: name a program or a process, as in: snug doctor redis-server");
  const Diagnosis diagnosis = diagnose(program_.front());
  // A path may be no UTF-8.
  std::cout << (json_ ? json_text(diagnosis.json(), 2) + "\n" : diagnosis.text(terminal_width(STDOUT_FILENO)))
            << std::flush;
  if (!std::cout) throw UserError("cannot write what was found: disk full or pipe closed");
  return diagnosis.in_the_way() ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace snug::tool
