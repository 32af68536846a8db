#include "run/reported_run.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "print/say.h"
#include "process/passed_signals.h"
#include "process/served_proof.h"
#include "process/temporary_folder.h"
#include "run/peak_table.h"
#include "text/json_text.h"

namespace snug::tool {

namespace {

// `program`: the process that the tool has started.
std::string report_text(const std::vector<nlohmann::json>& processes, pid_t program, ProcessRows rows) {
  if (processes.empty()) {
    return "snug: no process reported (a static program, or one that ended by _exit or a signal, does not)\n";
  }
  const bool has_reported = std::any_of(processes.begin(), processes.end(), [&](const nlohmann::json& process) {
    return process.value("pid", 0) == program;
  });
  return process_table(processes, program, rows) + peak_text(processes) + largest_process(processes) +
         (has_reported ? ""
                       : fmt::format("snug: the program itself, process {}, did not report: it ended by "
                                     "_exit (as dash does) or a signal, or is not served\n",
                                     program));
}

}  // namespace

int run_with_report(Command command, ProcessRows rows, OutputFile* json) {
  int status = 0;
  std::vector<nlohmann::json> processes;
  {
    const TemporaryFolder folder;
    const auto report = folder.path() / "report";
    command.environment.configure_snug("report:" + report.string());
    const EndedProgram ended = run_passing_signals(command);
    status = ended.status;
    processes = read_reports(report);
    sort_by_allocated(processes);
    say("{}", report_text(processes, ended.pid, rows));
  }
  // Behind the folder: a reader that goes away ends the tool here, and would leave the folder.
  if (json != nullptr) {
    json->put(json_text(nlohmann::json(processes), 2) + "\n");
    json->finish();
  }
  if (WIFSIGNALED(status)) end_by_signal(WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace snug::tool
