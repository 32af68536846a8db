#include "heap/idle_thread.h"

#include <algorithm>

#include "base/at_a_time.h"
#include "base/pause.h"
#include "heap/store.h"
#include "os/clock.h"
#include "os/thread.h"

namespace snug {
namespace {

// Milliseconds between two looks, and before it returns, once it has left kFreeLeaves times.
constexpr uint32_t kLeastPeriod = 100;
constexpr uint32_t kLooks = 4;             // in the time after which what is empty goes
constexpr uint32_t kBeforeAnother = 1000;  // milliseconds after the OS has refused a thread
constexpr uint32_t kStepsBeforePause = 4;
constexpr uint32_t kFreeLeaves = 16;    // libraries try threads out at the start, and the pool of workers comes then
constexpr uint32_t kMostRefusals = 64;  // in a row of steps: each is young again, and soon not, if nothing may age

}  // namespace

// Repeats a step that gives one thing back, each under a lock of its own, as long as the thread is not to go. An
// unlocked lock goes to whoever comes first, which is this thread again, unless it stays away long enough for a waiter
// to wake up. False if the OS has refused.
template <class Step>
bool IdleThread::exhaust(Step step) {
  uint32_t steps = 0;
  return exhaust(step, [&] {
    if (++steps % kStepsBeforePause == 0) pause_a_moment();
    return bell_.is_awake();
  });
}

template <class Step, class MayGoOn>
bool IdleThread::exhaust(Step step, MayGoOn may_go_on) {
  bool all_went = true;
  for (uint32_t refusals = 0; refusals != kMostRefusals && may_go_on();) {
    const Purge outcome = step();
    if (outcome == Purge::kNotDue) return all_went;
    refusals = outcome == Purge::kRefused ? refusals + 1 : 0;
    all_went = all_went && refusals == 0;
  }
  return false;
}

// One pass over the heaps in so long that an empty page has lain for purge_after at most when it goes. What a pass has
// left, as the OS has refused or the thread has left, the next one begins with.
bool IdleThread::give_back_holes() {
  const uint32_t now = os::milliseconds();
  if (now - went_round_at_ < store.config.purge_after / 2) return true;
  went_round_at_ = now;
  return exhaust([this] {
    const LockGuard guard(hands_);
    return store.registry.give_back_holes(pass_);
  });
}

// False if the OS has refused something.
bool IdleThread::give_back_overdue() {
  store.reach.take_still();
  const bool heaps = give_back_holes();
  const bool large = exhaust([] { return store.large.purge_overdue(); });
  const bool spans = exhaust([] { return store.spans.purge_overdue(); });
  return heaps && large && spans;
}

// What was kept because the thread was here to see to it. For who has left the bell: until then nothing is beyond the
// bounds. Whoever joins the thread waits for it, so without pauses.
void IdleThread::give_back_excess() {
  const auto always = [] { return true; };
  exhaust([] { return store.large.purge_excess(); }, always);
  exhaust([] { return store.spans.purge_excess(); }, always);
}

// The same in the child of a fork, which has one thread, with its slow operations: some for each time that the clock
// tells, so that a child which soon ends does not pay for all.
void IdleThread::give_back_inherited() {
  const uint32_t now = os::milliseconds();
  if (gave_inherited_at_.exchange(now, std::memory_order_relaxed) == now) return;
  for (uint32_t left = kAtATime; left != 0; --left) {
    if (store.large.purge_excess() == Purge::kDone || store.spans.purge_excess() == Purge::kDone) continue;
    return has_inherited_.store(false, std::memory_order_relaxed);
  }
}

bool IdleThread::anything_ages() const {
  return store.spans.ages() || store.large.ages() || store.registry.ages() || store.reach.ages();
}

void IdleThread::open(IdleThreads mode) {
  is_automatic_ = mode == IdleThreads::kAuto;
  if (is_automatic_ && !begins_with_threads_) bell_.invite();
}

void IdleThread::thread_made() {
  if (!is_automatic_ || bell_.is_attended()) return;  // it may be this very thread that is being made
  has_seen_threads_made_.store(true, std::memory_order_relaxed);
  if (has_left_lately()) return;
  bell_.invite();
  start_if_wanted();
}

void IdleThread::permit() {
  os::find_thread_count();  // not later, as that may wait for a library that is being loaded
  if (os::is_main_thread()) main_thread_.store(&thread_state, std::memory_order_relaxed);
  if (store.is_open() && store.config.idle_thread != IdleThreads::kOff) watch_main_thread();
  permitted_.store(true, std::memory_order_relaxed);
}

// It is the end of a thread's cache that announces the end of the thread.
void IdleThread::watch_main_thread() {
  if (is_main_thread()) store.roster.start();
}

// Without a system call, which would be a new one in the midst of a program.
bool IdleThread::is_main_thread() const { return main_thread_.load(std::memory_order_relaxed) == &thread_state; }

void IdleThread::start() {
  if (is_automatic_ && os::thread_count() == 1) {  // invited by a thread that has ended, or in the child of a fork
    if (has_inherited_.load(std::memory_order_relaxed)) give_back_inherited();
    return;
  }
  if (!permitted_.load(std::memory_order_relaxed) || forking_.load(std::memory_order_relaxed)) return;
  if (was_refused_.load(std::memory_order_relaxed) &&
      os::milliseconds() - refused_at_.load(std::memory_order_relaxed) < kBeforeAnother)
    return;
  if (Presence::start(*this)) await_first_steps();
}

bool IdleThread::start_thread() {
  watch_main_thread();
  is_unfiltered_.store(os::is_unfiltered(), std::memory_order_relaxed);
  has_taken_steps_.store(0, std::memory_order_relaxed);
  if (os::start_thread(&thread_, [] { store.idle.live(); })) return true;
  refused_at_.store(os::milliseconds(), std::memory_order_relaxed);
  was_refused_.store(true, std::memory_order_relaxed);
  return false;
}

void IdleThread::join_thread() { os::join_thread(thread_); }

// What it does once, and libc before it, a filter of system calls that the program sets up next may not allow.
void IdleThread::await_first_steps() {
  constexpr uint32_t kPatience = 1000;  // milliseconds
  constexpr timespec kStep{0, 10'000'000};
  const uint32_t began = os::milliseconds();
  while (is_automatic_ && has_taken_steps_.load(std::memory_order_acquire) == 0 &&
         os::milliseconds() - began < kPatience)
    StdAtomics::futex_wait(has_taken_steps_, 0, &kStep);
}

// A filter that allows threads need not allow what they are called, or how they are scheduled; where the setting has
// asked for the thread, it has to allow its name.
void IdleThread::take_first_steps() {
  const bool is_unfiltered = is_unfiltered_.load(std::memory_order_relaxed);
  if (is_unfiltered || !is_automatic_) os::name_thread("snug-idle");
  if (is_unfiltered) os::leave_real_time();
  has_taken_steps_.store(1, std::memory_order_release);
  StdAtomics::futex_wake(has_taken_steps_, 1);
}

void IdleThread::live() {
  take_first_steps();
  Presence::live(*this, std::max(store.config.purge_after / kLooks, kLeastPeriod));
  give_back_excess();
  note_leave();
}

bool IdleThread::is_superfluous() const { return is_automatic_ && store.roster.cache_count() <= 1; }

// Beside those with a cache, and the calling thread, which has none.
bool IdleThread::sees_silent_threads() const {
  return is_automatic_ && os::thread_count() > store.roster.cache_count() + 1;
}

// To begin and to end it takes as long as another thread does. A thread that begins too soon after does without, as no
// later one may start it: by then a filter of system calls may have been set up.
bool IdleThread::has_left_lately() const {
  return leaves_.load(std::memory_order_relaxed) >= kFreeLeaves &&
         os::milliseconds() - left_at_.load(std::memory_order_relaxed) < kLeastPeriod;
}

void IdleThread::note_leave() {
  left_at_.store(os::milliseconds(), std::memory_order_relaxed);
  leaves_.fetch_add(1, std::memory_order_relaxed);
}

// Who is dismissed stays unjoined: main's thread does not wait, and others may be joining it already.
void IdleThread::thread_ended() {
  if (is_main_thread()) return bell_.dismiss();
  Presence::settle(*this);
  // What looks silent may be another thread that ends at this moment. So the idle thread is gone first in any case, and
  // does not come again where no thread is left.
  if (sees_silent_threads() && !has_left_lately()) bell_.invite();
}

void IdleThread::before_fork() { forking_.store(true, std::memory_order_relaxed); }

void IdleThread::after_fork_in_parent() {
  hands_.unlock_after_fork();
  forking_.store(false, std::memory_order_relaxed);
}

void IdleThread::after_fork_in_child() {
  main_thread_.store(&thread_state, std::memory_order_relaxed);
  if (is_automatic_) {
    bell_.clear_until_invited();
    if (os::thread_count() != 0) bell_.invite();  // it comes where there is another thread, as libc counts them
    has_inherited_.store(true, std::memory_order_relaxed);
  } else {
    bell_.clear();
  }
  is_unjoined_ = false;
  hands_.unlock_after_fork();
  was_refused_.store(false, std::memory_order_relaxed);
  forking_.store(false, std::memory_order_relaxed);
}

}  // namespace snug
