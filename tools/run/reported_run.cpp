#include "run/reported_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

#include "print/quantity.h"
#include "print/table.h"
#include "process/served_proof.h"
#include "process/temporary_folder.h"
#include "run/peak_table.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

// A terminal sends Ctrl-C and Ctrl-\ to the program as well, which shares our process group: passing those on too
// would deliver them twice.
bool came_from_terminal(const signalfd_siginfo& received) { return received.ssi_code == SI_KERNEL; }

void pass_signals_until_end(const ChildProcess& child, const HeldSignals& signals) {
  pollfd watched[2] = {{child.descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
  while (watched[0].revents == 0) {
    poll(watched, 2, -1);
    signalfd_siginfo received;
    if (watched[1].revents == 0 || read(signals.descriptor(), &received, sizeof received) != sizeof received) continue;
    if (!came_from_terminal(received)) kill(child.pid(), static_cast<int>(received.ssi_signo));
  }
}

// What the process may keep at most, as `retained` counts it.
std::string retain_text(const nlohmann::json& process) {
  const auto pages = process.find("retain");
  const auto large = process.find("retain_large");
  const bool are_there = pages != process.end() && large != process.end() && pages->is_number() && large->is_number();
  return are_there ? value_text(pages->get<double>() + large->get<double>(), kBytes) : "-";
}

std::string field_text(const nlohmann::json& process, const char* field, const char* unit) {
  const auto value = process.find(field);
  return value != process.end() && value->is_number() ? value_text(value->get<double>(), unit) : "-";
}

std::string sum_text(const std::vector<nlohmann::json>& processes, const char* field, const char* unit) {
  double sum = 0;
  for (const auto& process : processes) {
    const auto value = process.find(field);
    if (value != process.end() && value->is_number()) sum += value->get<double>();
  }
  return value_text(sum, unit);
}

// `program`: the process that the tool has started.
std::string report_text(const std::vector<nlohmann::json>& processes, pid_t program) {
  if (processes.empty()) {
    return "snug: no process reported (a static program, or one that ended by _exit or a signal, does not)\n";
  }
  Table table(
      {"snug served", "pid", "allocations", "in use at exit", "cached", "retained", "at most", "metadata", "purged"});
  for (const auto& process : processes) {
    const auto pid = process.find("pid");
    table.add_row({process.value("program", "?"), pid != process.end() ? pid->dump() : "-",
                   field_text(process, "allocations", kCount), field_text(process, "bytes_in_use", kBytes),
                   field_text(process, "bytes_cached", kBytes), field_text(process, "bytes_retained", kBytes),
                   retain_text(process), field_text(process, "bytes_metadata", kBytes),
                   field_text(process, "bytes_purged", kBytes)});
  }
  if (processes.size() > 1) {
    table.add_row({fmt::format("all {}", processes.size()), "", sum_text(processes, "allocations", kCount),
                   sum_text(processes, "bytes_in_use", kBytes), sum_text(processes, "bytes_cached", kBytes),
                   sum_text(processes, "bytes_retained", kBytes), "", sum_text(processes, "bytes_metadata", kBytes),
                   sum_text(processes, "bytes_purged", kBytes)});
  }
  const bool has_reported = std::any_of(processes.begin(), processes.end(), [&](const nlohmann::json& process) {
    return process.value("pid", 0) == program;
  });
  return table.text() + peak_text(processes) +
         (has_reported ? ""
                       : fmt::format("snug: the program itself, process {}, did not report: it ended by "
                                     "_exit (as dash does) or a signal, or is not served\n",
                                     program));
}

}  // namespace

int run_with_report(Command command, std::ostream* json) {
  int status = 0;
  {
    const TemporaryFolder folder;
    const auto report = folder.path() / "report";
    command.environment.configure_snug("report:" + report.string());
    const HeldSignals signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2});
    const ChildProcess child(command, signals);
    pass_signals_until_end(child, signals);
    while (waitpid(child.pid(), &status, 0) < 0 && errno == EINTR) {
    }
    const auto processes = read_reports(report);
    fmt::print(stderr, "{}", report_text(processes, child.pid()));
    if (json != nullptr && !(*json << nlohmann::json(processes).dump(2) << '\n' << std::flush))
      throw UserError("cannot write the JSON: disk full or pipe closed");
  }
  if (WIFSIGNALED(status)) end_by_signal(WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace snug::tool
