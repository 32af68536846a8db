#include "heap/idle_thread.h"

#include <algorithm>

#include "base/pause.h"
#include "heap/store.h"
#include "os/process.h"
#include "os/thread.h"

namespace snug {
namespace {

constexpr uint32_t kLooks = 4;               // in the time after which what is empty goes
constexpr uint32_t kLeastPeriod = 100;       // milliseconds between two looks
constexpr uint32_t kBeforeAnother = 1000;    // milliseconds after the OS has refused a thread
constexpr uint32_t kMostPatience = 3600000;  // milliseconds between two tries of what the OS refuses to take
constexpr uint32_t kStepsBeforePause = 4;
constexpr uint32_t kMostRefusals = 64;  // in a row of steps: each is young again, and soon not, if nothing may age

// Repeats a step that gives one thing back, each under a lock of its own. An unlocked lock goes to whoever comes first,
// which is this thread again, unless it stays away long enough for a waiter to wake up. False if the OS has refused.
template <class Step>
bool exhaust(Step step) {
  uint32_t refusals = 0;
  for (uint32_t steps = 1; refusals < kMostRefusals; ++steps) {
    const Purge outcome = step();
    if (outcome == Purge::kNotDue) return refusals == 0;
    if (outcome == Purge::kRefused) ++refusals;
    if (steps % kStepsBeforePause == 0) pause_a_moment();
  }
  return false;
}

// False if the OS has refused something.
bool give_back_overdue() {
  store.reach.take_still();
  const bool heaps = exhaust([] { return store.registry.purge_overdue(store.config.purge_after); });
  const bool large = exhaust([] { return store.large.purge_overdue(); });
  const bool spans = exhaust([] { return store.spans.purge_overdue(); });
  return heaps && large && spans;
}

bool anything_ages() { return store.spans.ages() || store.large.ages() || store.registry.ages() || store.reach.ages(); }

}  // namespace

void IdleThread::permit() {
  if (store.is_open() && store.config.idle_thread) watch_main_thread();
  permitted_.store(true, std::memory_order_relaxed);
}

// It is the end of a thread's cache that announces the end of the thread.
void IdleThread::watch_main_thread() {
  if (os::is_main_thread()) store.roster.start();
}

void IdleThread::start() {
  if (!permitted_.load(std::memory_order_relaxed) || forking_.load(std::memory_order_relaxed)) return;
  if (was_refused_.load(std::memory_order_relaxed) &&
      os::milliseconds() - refused_at_.load(std::memory_order_relaxed) < kBeforeAnother)
    return;
  if (!bell_.claim()) return;
  watch_main_thread();  // in the child of a fork it is another one
  if (os::start_thread([] { store.idle.live(); })) return;
  refused_at_.store(os::milliseconds(), std::memory_order_relaxed);
  was_refused_.store(true, std::memory_order_relaxed);
  bell_.decline();
}

void IdleThread::live() {
  os::name_thread("snug-idle");
  const uint32_t period = std::max(store.config.purge_after / kLooks, kLeastPeriod);
  uint32_t patience = period;
  for (;;) {
    bell_.doze(period);
    const bool willing = give_back_overdue();
    if (!bell_.announce()) return;
    // What the OS does not take (locked memory, say) stays, and ages: it is tried again less and less often.
    patience = willing ? period : std::min(patience * 2, kMostPatience);
    if (!anything_ages())
      bell_.wait();
    else if (willing)
      bell_.withdraw();
    else
      bell_.wait(patience);
  }
}

void IdleThread::thread_ended() {
  if (os::is_main_thread()) bell_.dismiss();
}

void IdleThread::after_fork_in_child() {
  bell_.clear();
  was_refused_.store(false, std::memory_order_relaxed);
  forking_.store(false, std::memory_order_relaxed);
}

}  // namespace snug
