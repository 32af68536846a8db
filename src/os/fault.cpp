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

void handle(int signal, siginfo_t* info, void* context) {
  if (info->si_code > 0) fault_teller(info->si_addr);
  if ((former.sa_flags & SA_SIGINFO) != 0)
    former.sa_sigaction(signal, info, context);
  else if (former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN)
    end_as_before(signal, *info);
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
  ::sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace snug::os
