#include "traces/symbolizer.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "process/child_process.h"
#include "process/temporary_folder.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

// False if it cannot be executed.
bool run(Command command, int& status) {
  try {
    const HeldSignals none({});
    const ChildProcess child(command, none);
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
    if (!run(command, status)) continue;
    if (status == 0) return text_of(answers);
    fault = way.front() + " fails";
    return {};
  }
  fault = "neither llvm-symbolizer nor addr2line is installed";
  return {};
}

}  // namespace snug::tool
