// Doorbell: one thread waits at it for work, any thread rings. Ringing is for places that hold a lock and must not slow
// down: it costs one load unless somebody waits, or nobody has come yet.
//
//                 ring, summon            claim                 announce
//      absent ──────────────────► wanted ───────► awake ◄──────────────────────► waiting        dismissed: for good
//                                   ▲    ◄───────   │     ring, withdraw
//                            invite │     decline   │ leave
//                                   └───── away ◄───┘
//
// Nothing is missed if the one who rings does so in the lock under which he has put the work down, and the one who
// waits looks for work, under that lock, between announce() and wait().
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"

namespace snug {

class Doorbell {
 public:
  // There is work.
  void ring() {
    const uint32_t seen = state_.load(std::memory_order_relaxed);
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

  // Whoever claims sees to it that somebody comes, or declines.
  bool is_wanted() const { return state_.load(std::memory_order_relaxed) == kWanted; }
  bool claim() { return change(kWanted, kAwake); }
  void decline() { change(kAwake, kWanted); }
  // True from the claim on.
  bool is_attended() const { return state_.load(std::memory_order_relaxed) > kWanted; }

  // For the one who waits. announce() is false once he is dismissed.
  bool announce() { return change(kAwake, kWaiting); }
  void withdraw() { change(kWaiting, kAwake); }
  // Announced: until somebody rings; with a time, no longer than that.
  void wait();
  void wait(uint32_t milliseconds);
  // For the one who is awake: goes, and comes back only if invited. False if dismissed.
  bool leave() { return change(kAwake, kAway); }
  // Awake: about so long, whether somebody rings or not.
  void doze(uint32_t milliseconds);

  // Whoever waits is to go, and nobody is to come any more.
  void dismiss();
  // In the child of a fork, or at the start: nobody is here, and one comes where there is work, or only if invited.
  void clear() { state_.store(kAbsent, std::memory_order_relaxed); }
  void clear_until_invited() { state_.store(kAway, std::memory_order_relaxed); }

 private:
  enum State : uint32_t { kAbsent, kAway, kWanted, kAwake, kWaiting, kDismissed };

  bool change(uint32_t from, uint32_t to) {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
  }
  SNUG_COLD void answer(uint32_t seen);
  void sleep_while(uint32_t state, uint32_t milliseconds);
  void wake();

  std::atomic<uint32_t> state_{kAbsent};
};

}  // namespace snug
