// What the background thread gives back in a round, and what as it goes.
#include "allocator/allocator.h"
#include "allocator/background_thread.h"
#include "base/at_a_time.h"
#include "base/atomic.h"
#include "base/pause.h"
#include "os/clock.h"

namespace snug {
namespace {

constexpr uint32_t kStepsBeforePause = 4;

}  // namespace

// The whole way of memory that the program has freed and nothing takes again, from the thread that freed it to the OS:
//
//   a page stock ──────────────────► ▼
//   a cache ──► slabs of heaps ──► the span store ──► the OS
//                    └── holes ───────────────────────► ▲
//   kept mappings of large blocks ─────────────────────┘
//
// Each step gives one thing back, under the one lock that guards it, and makes its system call without it. False if the
// OS has refused something, or the thread has to go.
bool BackgroundThread::give_back_all_overdue() {
  allocator.watch_memory();
  allocator.take_deferred_home();
  // The caches of threads that have allocated nothing since the last round: their blocks go home to their slabs.
  allocator.revocation.take_still();
  bool all_went = true;
  // Heap by heap, a slab a step: empty ones become free spans, of others the pages without a live block go to the OS. A
  // pass over all heaps begins each half of purge_after, so that no empty page gets older than purge_after. If the OS
  // has refused, or the thread has left, the next pass goes on where this one stopped.
  const uint32_t now = os::milliseconds();
  if (now - went_round_at_ >= allocator.purge_after() / 2) {
    went_round_at_ = now;
    allocator.user_heaps.give_stocks(true);
    all_went = exhaust([this] {
      const LockGuard guard(hands_);  // so that a fork, or a thread that counts, finds nothing detached
      return allocator.registry.give_back_holes(pass_);
    });
  }
  // Mappings and spans that have lain unused for purge_after.
  all_went = exhaust([] { return allocator.mappings.purge_overdue(); }) && all_went;
  return exhaust([] { return allocator.spans.purge_overdue(); }) && all_went;
}

bool BackgroundThread::give_back_overdue() {
  const uint32_t ends = round_ends_.load(kRelaxed);
  round_ends_.store(ends + 1);
  const bool all_went = give_back_all_overdue();
  round_ends_.store(ends + 2);
  return all_went;
}

// Repeats a step until nothing is due or the thread has to go. The first thread to try gets an unlocked lock, and that
// would be this one again: it pauses now and then, so that a waiter can wake up. False if the OS has refused, or the
// thread has to go.
template <class Step>
bool BackgroundThread::exhaust(Step step) {
  uint32_t steps = 0;
  return exhaust(step, [&] {
    if (++steps % kStepsBeforePause == 0) pause_a_moment();
    return wake_event_.is_awake();
  });
}

template <class Step, class MayGoOn>
bool BackgroundThread::exhaust(Step step, MayGoOn may_go_on) {
  bool all_went = true;
  for (uint32_t refusals = 0; refusals != kMostRefusals && may_go_on();) {
    const Purge outcome = step();
    if (outcome == Purge::kNotDue) return all_went;
    refusals = outcome == Purge::kRefused ? refusals + 1 : 0;
    all_went = all_went && refusals == 0;
  }
  return false;
}

bool BackgroundThread::looks_by_itself() const { return allocator.watches_memory(); }

bool BackgroundThread::anything_ages() const {
  return allocator.spans.ages() || allocator.mappings.ages() || allocator.registry.ages() ||
         allocator.revocation.ages() || allocator.deferred.has_any() || allocator.user_heaps.bytes_in_stocks() != 0;
}

// Gives back what was kept only because the background thread ran. Called after the thread has left the wake event, as
// until then nothing is beyond the bounds. Makes no pauses, as a thread that joins this one waits for it.
void BackgroundThread::give_back_excess() {
  const auto always = [] { return true; };
  exhaust([] { return allocator.mappings.purge_excess(); }, always);
  exhaust([] { return allocator.spans.purge_excess(); }, always);
}

// Does the same in the child of a fork, which has one thread, in its slow operations: a few steps for each tick of the
// clock, so that a child which soon ends does not pay for all.
void BackgroundThread::give_back_inherited() {
  const uint32_t now = os::milliseconds();
  if (gave_inherited_at_.exchange(now, kRelaxed) == now) return;
  for (uint32_t left = kAtATime; left != 0; --left) {
    if (allocator.mappings.purge_excess() == Purge::kDone || allocator.spans.purge_excess() == Purge::kDone) continue;
    return has_inherited_.store(false, kRelaxed);
  }
}

}  // namespace snug
