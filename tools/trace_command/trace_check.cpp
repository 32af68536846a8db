#include "trace_command/trace_check.h"

#include <fmt/format.h>

#include "trace_command/trace_info.h"

namespace snug::tool {

void TraceCheck::add(TraceInput& input, const std::string& name) {
  const TraceInfo info = read_info(input);
  const trace::TraceAccount& account = info.account;
  const bool was_damaged = faults_ != input.damage().faults();
  events_ += account.events();
  impossible_ += account.faults();
  lost_ += account.lost();
  faults_ = input.damage().faults();
  for (const std::string& line : info.impossible) lines_ += name + line + "\n";
  nlohmann::ordered_json json = info_json(input, info);
  if (!name.empty()) json["number"] = input.process().number;
  json["first_impossible_events"] = info.impossible;
  json["well"] = account.faults() == 0 && account.lost() == 0 && !was_damaged;
  processes_.push_back(std::move(json));
}

std::string TraceCheck::text() const {
  const std::string of = processes_.size() == 1 ? "" : fmt::format("{} processes: ", processes_.size());
  return fmt::format("{}{}{} events, {} of them cannot be, {} lost; {} fault(s) in the file\n", lines_, of, events_,
                     impossible_, lost_, faults_);
}

nlohmann::ordered_json TraceCheck::json() const {
  if (processes_.size() == 1) return processes_.front();
  return {{"processes", processes_}, {"well", is_well()}};
}

}  // namespace snug::tool
