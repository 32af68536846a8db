// Doorbell: one thread waits at it for work, any thread rings. Ringing is for places that hold a lock and must not slow
// down: it costs one load unless somebody waits, or nobody has come yet.
//
//                 ring, summon            claim            arrive           announce
//      absent ──────────────────► wanted ───────► coming ────────► awake ◄───────────────► waiting
//                                   ▲    ◄───────                    │      ring, withdraw
//                            invite │     decline                    │ leave
//                                 away ◄─────────────────────────────┘
//
//   send_away   away, wanted, awake, waiting ──► leaving        gone   leaving ──► away
//   dismiss     any ──► dismissed, for good
//
// Nothing is missed if the one who rings does so in the lock under which he has put the work down, and the one who
// waits looks for work, under that lock, between announce() and wait(); or if work is put down, and looked for, by
// operations that are sequentially consistent (os/bell_mark.h), as those of the bell are.
//
// A template, which tests/schedule runs in every order of its steps.
#pragma once

#include <time.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "base/compiler.h"
#include "base/std_atomics.h"

namespace snug {

template <class Atomics = StdAtomics>
class BasicDoorbell {
 public:
  // There is work.
  void ring() {
    const uint32_t seen = state_.load();
    if (seen == kAbsent || seen == kWaiting) [[unlikely]]
      answer(seen);
  }
  // There may be work for one who waits; nobody is called for it.
  void remind() {
    if (state_.load(std::memory_order_relaxed) == kWaiting) [[unlikely]]
      answer(kWaiting);
  }
  // There may be work some day, so that somebody should come; wakes nobody.
  void summon() {
    if (state_.load(std::memory_order_relaxed) == kAbsent) [[unlikely]]
      answer(kAbsent);
  }

  // Somebody should come, whether there is work or not, unless one is here, is being sent away or has been dismissed.
  void invite() {
    change(kAbsent, kWanted);
    change(kAway, kWanted);
  }

  // Whoever claims sees to it that somebody comes, and says so, or declines.
  bool is_wanted() const { return state_.load(std::memory_order_relaxed) == kWanted; }
  bool claim() { return change(kWanted, kComing); }
  void arrive() {
    change(kComing, kAwake);
    wake();
  }
  void decline() {
    change(kComing, kWanted);
    wake();
  }
  // Returns when nobody is on his way.
  void await_arrival() {
    while (state_.load(std::memory_order_relaxed) == kComing) Atomics::futex_wait(state_, kComing);
  }
  // True from the claim on.
  bool is_attended() const { return state_.load(std::memory_order_relaxed) > kWanted; }

  // For the one who waits. announce() is false once he is sent away or dismissed.
  bool announce() { return change(kAwake, kWaiting); }
  void withdraw() { change(kWaiting, kAwake); }
  // Announced: until somebody rings; with a time, no longer than that.
  void wait() {
    while (state_.load(std::memory_order_relaxed) == kWaiting) Atomics::futex_wait(state_, kWaiting);
  }
  void wait(uint32_t milliseconds) {
    sleep_while(kWaiting, milliseconds);
    withdraw();
  }
  // Somebody is here, and sees to what is put down and rung for.
  bool is_served() const {
    const uint32_t seen = state_.load(std::memory_order_relaxed);
    return seen == kAwake || seen == kWaiting;
  }
  bool is_awake() const { return state_.load(std::memory_order_relaxed) == kAwake; }
  // For the one who is awake: goes, and comes back only if invited. False if sent away or dismissed.
  bool leave() { return change(kAwake, kAway); }
  // Awake: about so long, whether somebody rings or not.
  void doze(uint32_t milliseconds) { sleep_while(kAwake, milliseconds); }

  // Nobody is to be here, nor to come unless invited again. Waits for one who is on his way. True for one caller, who
  // waits until whoever was here has gone, and says so: until then nobody can be invited. False if that is another, or
  // the one who was here has been dismissed, or nobody was ever called.
  bool send_away() {
    for (;;) {
      await_arrival();
      const uint32_t seen = state_.load();
      if (seen == kAbsent || seen == kLeaving || seen == kDismissed) return false;
      if (seen == kComing || !change(seen, kLeaving)) continue;
      if (seen == kAwake || seen == kWaiting) wake();
      return true;
    }
  }
  void gone() { change(kLeaving, kAway); }

  // Whoever waits is to go, and nobody is to come any more.
  void dismiss() {
    state_.store(kDismissed, std::memory_order_relaxed);
    wake();
  }
  // In the child of a fork, or at the start: nobody is here, and one comes where there is work, or only if invited.
  void clear() { state_.store(kAbsent, std::memory_order_relaxed); }
  void clear_until_invited() { state_.store(kAway, std::memory_order_relaxed); }

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

using Doorbell = BasicDoorbell<>;

}  // namespace snug
