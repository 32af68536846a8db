#include "ctl_command/ctl_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "config/configuration.h"
#include "live/live_process.h"
#include "print/output_file.h"
#include "print/quantity.h"
#include "print/table.h"
#include "text/json_text.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kUsualDistance = "512K";
constexpr const char* kExamples = R"(Examples:
  snug ctl 1234 purge                        gives back what is free, as malloc_trim(0)
  snug ctl 1234 set purge_after:100          or: set purge_after 100; and the like: retain, retain_large, limit
  snug ctl 1234 settings                     what is in force, and what may change
  snug ctl 1234 profile on && sleep 60 && snug profile 1234
  snug ctl 1234 profile off

The process is one that was started with SNUG_CONF=publish:on, of this user's, or any for root.

Exit status: 0; 1 if the process cannot be asked, or refuses; 2 for wrong usage.)";

// What is printed: for people, and as JSON.
struct Answer {
  std::string text;
  nlohmann::ordered_json json;
};

Answer purge(LiveProcess& process) {
  const double before = resident_bytes(process.pid());
  process.ask(ControlCommand::kPurge);
  const double after = resident_bytes(process.pid());
  return {fmt::format("process {}: {} in memory, {} before\n", process.pid(), value_text(after, kBytes),
                      value_text(before, kBytes)),
          {{"resident_bytes", static_cast<std::uint64_t>(after)},
           {"resident_bytes_before", static_cast<std::uint64_t>(before)}}};
}

Answer read_settings(LiveProcess& process) {
  Table table({"key", "value", "origin", "may change"}, Table::Align::kLeft);
  nlohmann::ordered_json settings = nlohmann::ordered_json::array();
  std::istringstream lines(process.ask(ControlCommand::kSettings));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream fields(line);
    for (std::string cell; std::getline(fields, cell, '\t');) cells.push_back(printable(cell));
    if (cells.size() != 4) throw damaged_answer(process.pid());
    const bool may_change = cells[3] == "1";
    settings.push_back({{"key", cells[0]}, {"value", cells[1]}, {"origin", cells[2]}, {"may_change", may_change}});
    cells[3] = may_change ? "yes" : "";
    table.add_row(cells);
  }
  return {table.text(), {{"settings", std::move(settings)}}};
}

}  // namespace

CtlCommand::CtlCommand(CLI::App& app) {
  command_ = app.add_subcommand("ctl", "Have a running process give memory back, change settings, or profile");
  command_->footer(kExamples);
  command_->add_option("process", process_, "The number of a process")->type_name("PID")->required();
  command_->add_option("order", order_, "purge, set, settings or profile")->type_name("ORDER")->required();
  command_->add_option("words", words_, "of set: KEY:VALUE,..., or KEY VALUE; of profile: on [DISTANCE], or off")
      ->type_name("WORD...");
  command_->add_flag("--json", json_, "Print what was done as JSON (snug.control/1)");
}

int CtlCommand::execute() const {
  const pid_t pid = process_number(process_);
  const std::size_t count = words_.size();
  const auto is_call = [&](const char* order, std::size_t least, std::size_t most) {
    return order_ == order && count >= least && count <= most;
  };
  Answer answer;
  if (is_call("purge", 0, 0)) {
    LiveProcess process(pid);
    answer = purge(process);
  } else if (is_call("settings", 0, 0)) {
    LiveProcess process(pid);
    answer = read_settings(process);
  } else if (is_call("set", 1, 2)) {
    LiveProcess(pid).ask(ControlCommand::kSet, count == 1 ? words_[0] : words_[0] + ":" + words_[1]);
  } else if (is_call("profile", 1, 1) && words_[0] == "off") {
    LiveProcess(pid).ask(ControlCommand::kProfileStop);
  } else if (is_call("profile", 1, 2) && words_[0] == "on") {
    const std::uint64_t distance = profile_distance(count == 2 ? words_[1] : kUsualDistance);
    LiveProcess(pid).ask(ControlCommand::kProfileStart, std::to_string(distance));
  } else {
    throw UserError(
        fmt::format("'{}' is no order, or has other words: purge; settings; set KEY:VALUE or KEY VALUE; profile on "
                    "[DISTANCE]; profile off",
                    printable(order_)));
  }
  if (json_) {
    nlohmann::ordered_json told = {{"schema", "snug.control/1"}, {"pid", pid}, {"order", order_}};
    if (!answer.json.is_null()) told.update(answer.json);
    answer.text = json_text(told) + "\n";
  }
  write_output(kStandardOutput, answer.text);
  return EXIT_SUCCESS;
}

}  // namespace snug::tool
