#include "process/passed_signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace

EndedProgram run_passing_signals(const Command& command) {
  const HeldSignals signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2});
  const ChildProcess child(command, signals);
  pass_signals_until_end(child, signals);
  EndedProgram ended{child.pid(), 0};
  while (waitpid(child.pid(), &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

}  // namespace snug::tool
