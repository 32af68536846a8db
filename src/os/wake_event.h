// WakeEvent: one thread, the waiter, waits at it for work, and any thread notifies it. Notifying is for code that holds
// a lock and must be fast: it costs one load unless the waiter sleeps, or none was called yet.
//
//                 notify, summon          claim            arrive           announce
//      absent ──────────────────► wanted ───────► coming ────────► awake ◄───────────────► waiting
//                                   ▲    ◄───────                    │      notify, withdraw
//                            invite │     decline                    │ leave
//                                 away ◄─────────────────────────────┘
//
//   send_away   away, wanted, awake, waiting ──► leaving        gone   leaving ──► away
//   dismiss     any ──► dismissed, for good
//
// The waiter finds all work if each thread notifies under the lock under which it has added the work, and the waiter
// looks for work, under that lock, between announce() and wait(); or if work is added, and looked for, by operations
// that are sequentially consistent (os/work_flag.h), as those of the wake event are.
//
// It is a template so that tests/schedule can run it in every order of its steps.
#pragma once

#include <limits.h>
#include <stdint.h>
#include <time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/std_atomics.h"

namespace snug {

template <class Atomics = StdAtomics>
class BasicWakeEvent {
 public:
  // Any thread may call notify(), remind() and summon(), under any lock: each makes at most one system call, which
  // wakes a futex's waiters.

  // Work was added: wakes a waiter that sleeps, or calls for one if there was none yet.
  void notify() {
    const uint32_t seen = state_.load();
    if (seen == kAbsent || seen == kWaiting) [[unlikely]]
      answer(seen);
  }
  // Something else has changed that the waiter looks at: wakes a waiter that sleeps, but calls for none.
  void remind() {
    if (state_.load() == kWaiting) [[unlikely]]
      answer(kWaiting);
  }
  // Has a waiter that sleeps look again, whether there is work or not.
  void rouse() {
    remind();
    wake();
  }
  // There may be work some day: calls for a waiter if there was none yet, but wakes none.
  void summon() {
    if (state_.load(kRelaxed) == kAbsent) [[unlikely]]
      answer(kAbsent);
  }

  // Calls for a waiter, with or without work, unless one is here, is being sent away or has been dismissed.
  void invite() {
    change(kAbsent, kWanted);
    change(kAway, kWanted);
  }

  // The thread that claims the wake event starts a waiter and calls arrive(), or calls decline().
  bool is_wanted() const { return state_.load(kRelaxed) == kWanted; }
  bool claim() { return change(kWanted, kComing); }
  void arrive() {
    change(kComing, kAwake);
    wake();
  }
  void decline() { change(kComing, kWanted); }
  // Returns when no waiter is being started.
  void await_arrival() {
    while (state_.load(kRelaxed) == kComing) Atomics::futex_wait(state_, kComing);
  }
  // True from the claim on.
  bool is_attended() const { return state_.load() > kWanted; }

  // For the waiter. announce() is false once it is sent away or dismissed.
  bool announce() { return change(kAwake, kWaiting); }
  void withdraw() { change(kWaiting, kAwake); }
  // After announce(): sleeps until a thread notifies; with a time, no longer than that.
  void wait() {
    while (state_.load(kRelaxed) == kWaiting) Atomics::futex_wait(state_, kWaiting);
  }
  void wait(uint32_t milliseconds) {
    sleep_while(kWaiting, milliseconds);
    withdraw();
  }
  // True if a waiter is here and will do the work that was notified of.
  bool is_served() const {
    const uint32_t seen = state_.load(kRelaxed);
    return seen == kAwake || seen == kWaiting;
  }
  bool is_awake() const { return state_.load(kRelaxed) == kAwake; }
  // For the waiter, awake: it leaves, and comes back only if invited. False if it was sent away or dismissed.
  bool leave() { return change(kAwake, kAway); }
  // For the waiter, awake: sleeps about so long, whether a thread notifies or not.
  void doze(uint32_t milliseconds) { sleep_while(kAwake, milliseconds); }

  // Sends the waiter away; none comes again unless invited. True for one caller, which waits until the waiter has gone
  // and then calls gone(): until then none can be invited. False if another thread is that caller or is starting the
  // waiter, if that has been dismissed, or none was ever called. `was_wanted`: whether one was wanted, but not here.
  bool send_away(bool* was_wanted) {
    uint32_t seen = state_.load();
    do {
      if (seen == kAbsent || seen == kComing || seen == kLeaving || seen == kDismissed) return false;
    } while (!state_.compare_exchange_strong(seen, kLeaving));
    if (seen == kAwake || seen == kWaiting) wake();
    *was_wanted = seen == kWanted;
    return true;
  }
  void gone() { change(kLeaving, kAway); }

  // Sends the waiter away for good: none can come any more.
  void dismiss() {
    state_.store(kDismissed, kRelaxed);
    wake();
  }
  // In the child of a fork, or at the start: no waiter is here. After clear() one is called if there is work, after
  // clear_until_invited() only by invite().
  void clear() { state_.store(kAbsent, kRelaxed); }
  void clear_until_invited() { state_.store(kAway, kRelaxed); }

 private:
  enum State : uint32_t { kAbsent, kAway, kWanted, kComing, kAwake, kWaiting, kLeaving, kDismissed };

  bool change(uint32_t from, uint32_t to) { return state_.compare_exchange_strong(from, to); }
  SNUG_COLD void answer(uint32_t seen) {
    if (seen == kAbsent)
      change(kAbsent, kWanted);
    else if (change(kWaiting, kAwake))
      wake();
  }
  void sleep_while(uint32_t state, uint32_t milliseconds) {
    const timespec length{static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1000000};
    Atomics::futex_wait(state_, state, &length);
  }
  void wake() { Atomics::futex_wake(state_, INT_MAX); }

  typename Atomics::template Atomic<uint32_t> state_{kAbsent};
};

using WakeEvent = BasicWakeEvent<>;

}  // namespace snug
