// Keeping: how much empty memory a store keeps for the next use, and how long; for pages and mappings alike. Which of
// it goes first the store says. The bounds (KeptBounds) are one object for all span stores, and one for mappings.
//
// By budget a store keeps little at first. Memory that was purged as excess and then had to be faulted in again (a
// refault) raises the budget by its length. Memory that lay unused until it was too old need not have been kept, and
// lowers it by its length.
//
// By age it keeps more, while the background thread runs and purges what has grown old: as much as was in use a moment
// ago and is not any more. So a burst leaves its memory to one that follows at once, what is in use and what is kept
// together exceed what was in use of late by little more than the budget (decision 0069 names the exceptions), and a
// process that rests has given it all back when its age is up. A moment is the age at which the background thread
// purges, or up to twice that: the highest use in the current and in the previous such interval is known.
//
//   least <= budget; all that is more was refaulted
//
// The caller holds the lock of the store, SpanStore or MappingStore; the bounds need none. O(1).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "os/clock.h"
#include "os/wake_event.h"
#include "span/given_bytes.h"

namespace snug {

// What may be kept, in bytes, of all the stores that share it, and how long: the settings retain and retain_large,
// purge_after, idle_thread and publish. They may change while other threads use the stores. Until they are set nothing
// is kept.
struct KeptBounds {
  static constexpr size_t kLeast = size_t{1} << 20;
  // How often what is kept is looked at while it comes of age.
  static constexpr uint32_t kLooks = 4;

  void set(size_t new_bytes, size_t new_in_use, size_t new_by_age, uint32_t new_purge_after) {
    bytes.store(new_bytes, kRelaxed);
    in_use.store(new_in_use, kRelaxed);
    by_age.store(new_by_age, kRelaxed);
    purge_after.store(new_purge_after, kRelaxed);
  }
  // The most that may be kept, but for what is in use.
  size_t most() const {
    const size_t always = bytes.load(kRelaxed);
    return is_looked_after() ? max(always, by_age.load(kRelaxed)) : always;
  }
  // Whether the background thread answers the wake event, and so looks after what grows old. The answer may change at
  // once.
  bool is_looked_after() const { return wake_event != nullptr && wake_event->is_served(); }
  // Free memory begins to age.
  void notify() const {
    if (wake_event != nullptr) wake_event->notify();
  }
  // There may be such memory some day.
  void summon() const {
    if (wake_event != nullptr) wake_event->summon();
  }

  Atomic<uint32_t> purge_after{0};  // milliseconds: how old kept memory is when it is purged
  WakeEvent* wake_event = nullptr;  // set before any other thread uses the stores
  Atomic<size_t> bytes{0};          // so many,
  Atomic<size_t> in_use{0};         // or as many as are in use, up to so many
  Atomic<size_t> by_age{0};         // the most with what was in use of late
  Atomic<size_t> least{kLeast};     // what each store keeps before any refault, within the others
};

class Keeping {
 public:
  // What a store has in use, how many share the bounds, and how much the others keep.
  struct Use {
    size_t bytes = 0;
    size_t stores = 1;
    size_t others_keep = 0;
  };

  explicit constexpr Keeping(const KeptBounds& bounds) : bounds_(bounds) {}

  // Whether some of what is kept has to go.
  bool is_too_much(size_t kept, const Use& use) const { return kept > with_age(min(budget(), most_of(use)), use); }
  // The same where some is spared: that counts against the bounds, but not against the budget.
  bool is_too_much(size_t kept, size_t spared, const Use& use) const {
    return kept > with_age(most_of(use), use) || is_too_much(kept - spared, use);
  }
  // What was freed before is too old, where age decides: milliseconds.
  uint32_t age() const { return bounds_.purge_after.load(kRelaxed); }
  // What was freed since, in the time between two looks, is too young to go for growth, or to have a huge page broken
  // as excess.
  uint32_t youth() const { return age() / KeptBounds::kLooks; }

  // Called before any of the bytes in use is freed.
  void note_use(size_t bytes) {
    if (bounds_.is_looked_after()) note_use(bytes, os::milliseconds());
  }
  void note_use(size_t bytes, uint32_t now) {
    const uint32_t age = this->age();
    if (age == 0) return;
    const uint32_t lasted = now - since_;
    if (lasted >= age) {
      const bool is_next = lasted - age < age;
      before_ = is_next ? highest_ : 0;
      highest_ = 0;
      since_ = is_next ? since_ + age : now;
    }
    highest_ = max(highest_, bytes);
  }
  // So many bytes were purged as excess.
  void gave(size_t bytes, const Use& use) { given_.gave(bytes, most_of(use)); }
  // So many bytes were taken that the OS has to back again, as far as can be told.
  void took(size_t bytes, const Use& use) { missed_ = given_.raised(budget(), bytes, most_of(use)) - least(); }
  // So many bytes were purged for their age.
  void aged(size_t bytes) { missed_ -= min(missed_, bytes); }

 private:
  size_t least() const { return bounds_.least.load(kRelaxed); }
  size_t budget() const { return least() + missed_; }

  // Of a bound that is for all stores, what the others leave, so that one busy store among idle ones keeps as much as
  // one alone; and an even part at least, so that idle ones do not leave a busy one without. What is then too much goes
  // from those that have more than their part, with their own frees or by the background thread.
  static size_t part_of(const Atomic<size_t>& bound, const Use& use) {
    const size_t bytes = bound.load(kRelaxed);
    return use.stores == 1 ? bytes : max(bytes / use.stores, bytes - min(bytes, use.others_keep));
  }
  // The bound on the budget: the more is in use, the less what is kept beside it matters, and the more may come back.
  size_t most_of(const Use& use) const {
    return max(part_of(bounds_.bytes, use), min(use.bytes, part_of(bounds_.in_use, use)));
  }
  // What may be kept where the budget alone would keep so much.
  size_t with_age(size_t budget, const Use& use) const {
    if (!bounds_.is_looked_after()) return budget;
    const size_t peak = max(before_, highest_, use.bytes);
    return max(budget, min(budget + (peak - use.bytes), part_of(bounds_.by_age, use)));
  }

  const KeptBounds& bounds_;
  size_t missed_ = 0;  // bytes of the budget beyond the least
  GivenBytes given_;
  size_t before_ = 0;   // highest use in the previous interval
  size_t highest_ = 0;  // the same of the current one
  uint32_t since_ = 0;  // milliseconds: when the current one began
};

}  // namespace snug
