#include "process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "text/user_error.h"

namespace snug::tool {

namespace {

// What the tool has inherited for SIGCHLD.
void (*child_signal)(int) = SIG_DFL;

// A C array of C strings over strings that must outlive it.
std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

UserError cannot_execute(const std::string& program, int error) {
  const bool is_there = program.find('/') != std::string::npos && access(program.c_str(), F_OK) == 0;
  return UserError(fmt::format("cannot run '{}': {}", program,
                               error == ENOENT && is_there ? "what it names as its interpreter or loader does not exist"
                                                           : std::strerror(error)),
                   error == ENOENT ? kExitNotFound : kExitCannotExecute);
}

bool redirect(const std::string& path, int descriptor, int flags) {
  if (path.empty()) return true;
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0600);
  return file >= 0 && dup2(file, descriptor) >= 0;
}

// Runs in the child between fork and exec: only async-signal-safe calls.
void execute(const Command& command, const HeldSignals& signals, char* const* arguments, char* const* variables) {
  if (command.group == ProcessGroup::kOwn) setpgid(0, 0);
  if (command.huge_pages == HugePages::kRefused) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  if (command.open_files) setrlimit(RLIMIT_NOFILE, &*command.open_files);
  if (!redirect(command.input, STDIN_FILENO, O_RDONLY)) return;
  if (!redirect(command.output, STDOUT_FILENO, O_WRONLY | O_CREAT | O_TRUNC)) return;
  if (!redirect(command.errors, STDERR_FILENO, O_WRONLY | O_CREAT | O_TRUNC)) return;
  if (command.output_to_errors && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return;
  std::signal(SIGCHLD, child_signal);
  sigprocmask(SIG_SETMASK, &signals.original(), nullptr);
  execvpe(arguments[0], arguments, variables);
}

}  // namespace

void take_child_signal() { child_signal = std::signal(SIGCHLD, SIG_DFL); }

HeldSignals::HeldSignals(const std::vector<int>& signals) {
  sigemptyset(&held_);
  for (const int signal : signals) sigaddset(&held_, signal);
  sigprocmask(SIG_BLOCK, &held_, &original_);
  descriptor_ = signalfd(-1, &held_, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw UserError(fmt::format("signalfd: {}", std::strerror(errno)));
}

HeldSignals::~HeldSignals() {
  close(descriptor_);
  sigset_t users;
  sigemptyset(&users);
  for (const int signal : {SIGUSR1, SIGUSR2})
    if (sigismember(&held_, signal) == 1) sigaddset(&users, signal);
  constexpr timespec kAtOnce = {};
  while (sigtimedwait(&users, nullptr, &kAtOnce) > 0) {
  }
  sigprocmask(SIG_SETMASK, &original_, nullptr);
}

ChildProcess::ChildProcess(const Command& command, const HeldSignals& signals) {
  const std::vector<std::string> assignments = command.environment.assignments();
  const std::vector<char*> arguments = c_strings(command.arguments);
  const std::vector<char*> variables = c_strings(assignments);
  // Closed by a successful exec, so the parent reads either end of file or the errno of the failure.
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) throw UserError(fmt::format("pipe: {}", std::strerror(errno)));
  // fork, not vfork or posix_spawn: exec hands the peak RSS of the memory it replaces down to the new program, and
  // with those two that is all of ours, shared libraries included (3.4 MB were seen, 0.6 MB with fork, which copies
  // page tables of private data only). For the same reason the tool keeps little in memory between runs.
  pid_ = fork();
  if (pid_ < 0) {
    const int error = errno;
    close(failure[0]);
    close(failure[1]);
    throw UserError(fmt::format("fork: {}", std::strerror(error)));
  }
  if (pid_ == 0) {
    execute(command, signals, arguments.data(), variables.data());
    const int error = errno;
    if (write(failure[1], &error, sizeof error) < 0) _exit(kExitCannotExecute);
    _exit(kExitNotFound);
  }
  if (command.group == ProcessGroup::kOwn) setpgid(pid_, pid_);  // here too: either may come first
  close(failure[1]);
  int error = 0;
  const bool failed = read(failure[0], &error, sizeof error) == sizeof error;
  close(failure[0]);
  if (failed) {
    waitpid(pid_, nullptr, 0);
    throw cannot_execute(command.arguments[0], error);
  }
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (descriptor_ >= 0) return;
  const int refusal = errno;
  kill(command.group == ProcessGroup::kOwn ? -pid_ : pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  throw UserError(fmt::format("pidfd_open: {} (Linux 5.3 or later?)", std::strerror(refusal)));
}

ChildProcess::~ChildProcess() { close(descriptor_); }

void end_by_signal(int signal) {
  const rlimit no_core{0, 0};  // the program has left one if it was to
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);  // not reached: every signal that ends a child ends us too
}

void become(const std::vector<std::string>& arguments, const Environment& environment) {
  const std::vector<std::string> assignments = environment.assignments();
  std::signal(SIGCHLD, child_signal);
  execvpe(arguments[0].c_str(), c_strings(arguments).data(), c_strings(assignments).data());
  throw cannot_execute(arguments[0], errno);
}

}  // namespace snug::tool
