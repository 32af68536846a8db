#include "record/leak_reports.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "print/say.h"
#include "record/recording.h"
#include "text/user_error.h"

namespace snug::tool {

LeakReports::LeakReports(std::filesystem::path trace, std::string suppressions, const HeldSignals& signals)
    : trace_(std::move(trace)), suppressions_(std::move(suppressions)), signals_(signals) {}

bool LeakReports::begin() {
  if (child_) {
    is_wished_ = true;
    return true;
  }
  // As text to standard error and as JSON to a file of ours. Ctrl-C is meant for the program.
  Command command = {.arguments = {"/proc/self/exe", "report", "--leaks", "--json"},
                     .environment = Environment::current(),
                     .input = "/dev/null",
                     .output = folder_.path() / "leaks.json",
                     .errors = {},
                     .group = ProcessGroup::kOwn};
  if (!suppressions_.empty()) command.arguments.insert(command.arguments.end(), {"--suppressions", suppressions_});
  command.arguments.insert(command.arguments.end(), {"--", trace_});
  try {
    child_.emplace(command, signals_);
    return true;
  } catch (const UserError& error) {
    return fail(fmt::format(": {}", error.what()));
  }
}

bool LeakReports::fail(const std::string& why) {
  say("snug record: what was never freed could not be told{}\n", why);
  return false;
}

bool LeakReports::note_exit(pid_t process, int status) {
  if (!child_ || child_->pid() != process) return false;
  take(status);
  return true;
}

bool LeakReports::take(int status) {
  child_.reset();
  auto json = nlohmann::ordered_json::parse(std::ifstream(folder_.path() / "leaks.json"), nullptr, false);
  const bool is_well = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kExitDamaged);
  if (is_well && json.is_object()) {
    said_.push_back(std::move(json));
    return true;
  }
  return fail("");
}

bool LeakReports::take_wish() { return std::exchange(is_wished_, false); }

bool LeakReports::finish() {
  if (child_) wait();
  return begin() && wait();
}

bool LeakReports::wait() {
  pollfd watched[] = {{.fd = child_->descriptor(), .events = POLLIN, .revents = 0},
                      {.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
  signalfd_siginfo received;
  for (;;) {
    while (poll(watched, std::size(watched), -1) < 0 && errno == EINTR) {
    }
    if (watched[0].revents != 0) break;
    while (read(signals_.descriptor(), &received, sizeof received) == sizeof received) {
      const auto signal = static_cast<int>(received.ssi_signo);
      if (signal != SIGCHLD && signal != SIGUSR1 && signal != SIGUSR2) kill(child_->pid(), SIGTERM);
    }
  }
  int status = 0;
  while (waitpid(child_->pid(), &status, 0) < 0 && errno == EINTR) {
  }
  return take(status);
}

}  // namespace snug::tool
