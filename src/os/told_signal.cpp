#include "os/told_signal.h"

#include <signal.h>
#include <string.h>

#include "base/errno_keeper.h"

namespace snug::os {
namespace {

void (*told_function)() = nullptr;

void pass_on(int) {
  const ErrnoKeeper keeper;
  told_function();
}

}  // namespace

uint32_t signal_number(const char* name, size_t length) {
  static constexpr struct {
    const char* name;
    int number;
  } kNames[] = {{"SIGHUP", SIGHUP}, {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}};
  for (const auto& one : kNames)
    if (strlen(one.name) == length && memcmp(one.name, name, length) == 0) return static_cast<uint32_t>(one.number);
  return 0;
}

bool may_tell_signal(uint32_t number) {
  constexpr int kNone[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGCHLD};
  constexpr uint32_t kFirstOfLibc = 32;  // up to the first real-time signal that a libc leaves to programs
  for (const int none : kNone)
    if (number == static_cast<uint32_t>(none)) return false;
  return number != 0 && (number < kFirstOfLibc ||
                         (number >= static_cast<uint32_t>(SIGRTMIN) && number <= static_cast<uint32_t>(SIGRTMAX)));
}

bool await_signal(uint32_t number, void (*told)()) {
  struct sigaction former = {};
  const int signal = static_cast<int>(number);
  if (::sigaction(signal, nullptr, &former) != 0 || (former.sa_flags & SA_SIGINFO) != 0 || former.sa_handler != SIG_DFL)
    return false;
  told_function = told;
  struct sigaction action = {};
  action.sa_handler = pass_on;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(signal, &action, nullptr) == 0;
}

}  // namespace snug::os
