#include "os/fault.h"

#include <signal.h>

namespace snug::os {
namespace {

FaultTeller fault_teller = nullptr;
struct sigaction former;

// Restores the former disposition: the access is repeated once this returns, and then ends the process. A signal that
// another process sent is not repeated by itself, so it is raised again.
void end_as_before(int signal, const siginfo_t& info) {
  ::sigaction(signal, &former, nullptr);
  if (info.si_code <= 0) ::raise(signal);
}

bool is_handler(const struct sigaction& action) { return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN; }

void handle(int signal, siginfo_t* info, void* context) {
  if (info->si_code > 0) fault_teller(info->si_addr);
  if (is_handler(former) && (former.sa_flags & SA_RESETHAND) != 0) {
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr);
  }
  if (!is_handler(former))
    end_as_before(signal, *info);
  else if ((former.sa_flags & SA_SIGINFO) != 0)
    former.sa_sigaction(signal, info, context);
  else
    former.sa_handler(signal);
}

}  // namespace

void tell_faults(FaultTeller teller) {
  fault_teller = teller;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, nullptr, &former);
  if (is_handler(former)) {
    action.sa_mask = former.sa_mask;
    action.sa_flags |= former.sa_flags & (SA_NODEFER | SA_RESTART);
  }
  ::sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace snug::os
