// Doorbell: one thread waits at it for work, any thread rings. Ringing is for places that hold a lock and must not slow
// down: it costs one load unless somebody waits, or nobody has come yet.
//
//                 ring, summon            claim            arrive           announce
//      absent ──────────────────► wanted ───────► coming ────────► awake ◄───────────────► waiting
//                                 ▲    │ ◄───────                  │      ring, withdraw      │      dismissed:
//                          invite │    │  decline                  │ leave                    │      for good
//                                 │    ▼ send_away                 │         send_away        │
//                                 away ◄───────────────────────────┴──── leaving ◄────────────┘
//                                                                  gone
//
// Nothing is missed if the one who rings does so in the lock under which he has put the work down, and the one who
// waits looks for work, under that lock, between announce() and wait(); or if work is put down, and looked for, by
// operations that are sequentially consistent, as those of the bell are.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

namespace snug {

class Doorbell {
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

  // Somebody should come, whether there is work or not, unless one is here or has been dismissed.
  void invite() {
    change(kAbsent, kWanted);
    change(kAway, kWanted);
  }

  // Whoever claims sees to it that somebody comes, and says so, or declines.
  bool is_wanted() const { return state_.load(std::memory_order_relaxed) == kWanted; }
  bool claim() { return change(kWanted, kComing); }
  void arrive();
  void decline();
  // Returns when nobody is on his way.
  void await_arrival();
  // True from the claim on.
  bool is_attended() const { return state_.load(std::memory_order_relaxed) > kWanted; }

  // For the one who waits. announce() is false once he is dismissed.
  bool announce() { return change(kAwake, kWaiting); }
  void withdraw() { change(kWaiting, kAwake); }
  // Announced: until somebody rings; with a time, no longer than that.
  void wait();
  void wait(uint32_t milliseconds);
  bool is_awake() const { return state_.load(std::memory_order_relaxed) == kAwake; }
  // For the one who is awake: goes, and comes back only if invited. False if sent away or dismissed.
  bool leave() { return change(kAwake, kAway); }
  // He is to go, and comes back only if invited. True for one caller, who says so when he has gone; false if nobody is
  // here, or somebody has sent him away already.
  bool send_away();
  void gone() { change(kLeaving, kAway); }
  // Awake: about so long, whether somebody rings or not.
  void doze(uint32_t milliseconds);

  // Whoever waits is to go, and nobody is to come any more.
  void dismiss();
  // In the child of a fork, or at the start: nobody is here, and one comes where there is work, or only if invited.
  void clear() { state_.store(kAbsent, std::memory_order_relaxed); }
  void clear_until_invited() { state_.store(kAway, std::memory_order_relaxed); }

 private:
  enum State : uint32_t { kAbsent, kAway, kWanted, kComing, kAwake, kWaiting, kLeaving, kDismissed };

  bool change(uint32_t from, uint32_t to) { return state_.compare_exchange_strong(from, to); }
  SNUG_COLD void answer(uint32_t seen);
  void sleep_while(uint32_t state, uint32_t milliseconds);
  void wake();

  std::atomic<uint32_t> state_{kAbsent};
};

}  // namespace snug
