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

int run_with_report(Command command, ProcessRows rows, std::ostream* json) {
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
    auto processes = read_reports(report);
    sort_by_allocated(processes);
    fmt::print(stderr, "{}", report_text(processes, child.pid(), rows));
    if (json != nullptr && !(*json << nlohmann::json(processes).dump(2) << '\n' << std::flush))
      throw UserError("cannot write the JSON: disk full or pipe closed");
  }
  if (WIFSIGNALED(status)) end_by_signal(WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace snug::tool
