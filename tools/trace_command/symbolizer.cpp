#include "trace_command/symbolizer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include "process/child_process.h"
#include "process/temporary_folder.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

// Those that would end us.
std::vector<int> ending_signals() {
  std::vector<int> ending;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) ending.push_back(signal);
  }
  return ending;
}

// False if it cannot be executed. A signal ends what runs, and is left where it is: it ends us when it is held no more,
// and the folder is gone.
bool run(const Command& command, const HeldSignals& signals, int& status) {
  try {
    const ChildProcess child(command, signals);
    pollfd watched[] = {{.fd = child.descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
    while (poll(watched, std::size(watched), -1) < 0 && errno == EINTR) {
    }
    if (watched[1].revents != 0) kill(child.pid(), SIGKILL);
    while (waitpid(child.pid(), &status, 0) < 0 && errno == EINTR) {
    }
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::string symbolize(const std::string& path, const std::vector<std::uint64_t>& addresses, std::string& fault) {
  const HeldSignals signals(ending_signals());
  const TemporaryFolder folder;
  const std::string questions = folder.path() / "addresses";
  const std::string answers = folder.path() / "names";
  std::ofstream file(questions);
  for (const std::uint64_t address : addresses) file << fmt::format("{:#x}\n", address);
  file.close();
  const std::vector<std::string> ways[] = {{"llvm-symbolizer", "--output-style=GNU", "--functions", "--demangle",
                                            "--inlining", "--addresses", "--obj=" + path},
                                           {"addr2line", "-f", "-C", "-i", "-a", "-e", path}};
  for (const std::vector<std::string>& way : ways) {
    int status = 0;
    const Command command = {.arguments = way,
                             .environment = Environment::current(),
                             .input = questions,
                             .output = answers,
                             .errors = "/dev/null"};
    if (!run(command, signals, status)) continue;
    if (status == 0) return text_of(answers);
    fault = way.front() + " fails";
    return {};
  }
  fault = "neither llvm-symbolizer nor addr2line is installed";
  return {};
}

}  // namespace snug::tool
