#include "os/doorbell.h"

#include <time.h>

#include "base/std_atomics.h"

namespace snug {

void Doorbell::answer(uint32_t seen) {
  if (seen == kAbsent)
    change(kAbsent, kWanted);
  else if (change(kWaiting, kAwake))
    wake();
}

void Doorbell::wait() {
  while (state_.load(std::memory_order_acquire) == kWaiting) StdAtomics::futex_wait(state_, kWaiting);
}

void Doorbell::wait(uint32_t milliseconds) {
  sleep_while(kWaiting, milliseconds);
  withdraw();
}

void Doorbell::doze(uint32_t milliseconds) { sleep_while(kAwake, milliseconds); }

void Doorbell::sleep_while(uint32_t state, uint32_t milliseconds) {
  const timespec length{static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1000000};
  StdAtomics::futex_wait(state_, state, &length);
}

void Doorbell::dismiss() {
  state_.store(kDismissed, std::memory_order_release);
  wake();
}

void Doorbell::wake() { StdAtomics::futex_wake(state_, 1); }

}  // namespace snug
