#include "os/doorbell.h"

#include <time.h>

#include <climits>

#include "base/std_atomics.h"

namespace snug {

void Doorbell::answer(uint32_t seen) {
  if (seen == kAbsent)
    change(kAbsent, kWanted);
  else if (change(kWaiting, kAwake))
    wake();
}

void Doorbell::arrive() {
  change(kComing, kAwake);
  wake();
}

void Doorbell::decline() {
  change(kComing, kWanted);
  wake();
}

void Doorbell::await_arrival() {
  while (state_.load(std::memory_order_acquire) == kComing) StdAtomics::futex_wait(state_, kComing);
}

bool Doorbell::send_away() {
  if (change(kWanted, kAway)) return false;
  // From one to the other and back, at any moment.
  while (state_.load() == kAwake || state_.load() == kWaiting) {
    if (!change(kAwake, kLeaving) && !change(kWaiting, kLeaving)) continue;
    wake();
    return true;
  }
  return false;
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

void Doorbell::wake() { StdAtomics::futex_wake(state_, INT_MAX); }

}  // namespace snug
