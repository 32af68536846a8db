#include "allocator/background_thread.h"

#include "allocator/allocator.h"
#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/pause.h"
#include "heap/user_heaps.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/thread.h"

// Defined by the replayer of `snug replay` alone, to be given make_round_now().
extern "C" SNUG_WEAK_IMPORT void snug_replay_background(uint32_t (*make_round)());

namespace snug {
namespace {

constexpr uint32_t kLeastPeriod = 100;  // milliseconds between two rounds of work
constexpr uint32_t kBeforeAnother = BackgroundLifecycle<BackgroundThread>::kBetweenLooks;  // once the OS refuses one

}  // namespace

void BackgroundThread::open(BackgroundThreadMode mode) {
  is_automatic_ = mode == BackgroundThreadMode::kAuto;
  if (is_automatic_ && !begins_with_threads_) wake_event_.invite();
  if (&snug_replay_background != nullptr) snug_replay_background([] { return allocator.background.make_round_now(); });
}

// Of a round that has begun already it waits for the next, since that one has read the clock.
uint32_t BackgroundThread::make_round_now() {
  const uint32_t before = round_ends_.load();
  const uint32_t until = before + 2 + before % 2;
  while (wake_event_.is_served()) {
    if (static_cast<int32_t>(round_ends_.load() - until) >= 0) return period();
    wake_event_.rouse();
    pause_a_moment();
  }
  return 0;
}

void BackgroundThread::thread_made() {
  if (!is_automatic_ || wake_event_.is_attended()) return;  // the thread made may be the background thread itself
  has_seen_threads_made_.store(true, kRelaxed);
  wake_event_.invite();
  start_if_wanted();
}

void BackgroundThread::permit() {
  os::find_thread_count();  // now, as later it might wait for a library that is being loaded
  if (os::is_main_thread()) main_thread_.store(&thread_state, kRelaxed);
  if (allocator.is_open() && allocator.config.idle_thread != BackgroundThreadMode::kOff) start_cache_if_main();
  permitted_.store(true, kRelaxed);
}

// A thread's end is noticed by the end of its cache.
void BackgroundThread::start_cache_if_main() {
  if (is_main_thread()) allocator.caches.start();
}

// Makes no system call, as a filter that the program has set up may not expect one here.
bool BackgroundThread::is_main_thread() const { return main_thread_.load(kRelaxed) == &thread_state; }

void BackgroundThread::start() {
  if (is_automatic_ && os::thread_count() == 1) {  // invited by a thread that has ended, or in the child of a fork
    if (has_inherited_.load(kRelaxed)) give_back_inherited();
    return;
  }
  // Where libc tells no number: not before a thread was made, or has a cache.
  if (os::thread_count() == 0 && is_superfluous() && !has_seen_threads_made_.load(kRelaxed)) return;
  if (!permitted_.load(kRelaxed) || forking_.load(kRelaxed)) return;
  if (refused_.is_within(kBeforeAnother)) return;
  if (!Lifecycle::start(*this)) return;
  await_first_steps();
  allocator.start_control(is_unfiltered_.load(kRelaxed));
}

bool BackgroundThread::start_thread() {
  const ScopePause pause;  // what libc keeps with the stack outlives the heap of a scope
  start_cache_if_main();
  is_unfiltered_.store(os::is_unfiltered(), kRelaxed);
  has_taken_steps_.store(0, kRelaxed);
  mark_process();
  if (os::start_thread(&thread_, [] { allocator.background.live(); })) return true;
  refused_.note();
  return false;
}

void BackgroundThread::mark_process() {
  Atomic<bool>* mark = process_mark_.load(kRelaxed);
  if (mark == nullptr) mark = static_cast<Atomic<bool>*>(os::map_wiped_in_children());
  if (mark == nullptr) return;
  mark->store(true, kRelaxed);
  process_mark_.store(mark, kRelease);
}

void BackgroundThread::join_thread() { os::join_thread(thread_); }

// Waits for the system calls that the new thread, and libc before it, makes once: a filter that the program sets up
// next may not allow them.
void BackgroundThread::await_first_steps() {
  constexpr uint32_t kPatience = 1000;  // milliseconds
  constexpr timespec kStep{0, 10'000'000};
  const uint32_t began = os::milliseconds();
  while (is_automatic_ && has_taken_steps_.load(kAcquire) == 0 && os::milliseconds() - began < kPatience)
    StdAtomics::futex_wait(has_taken_steps_, 0, &kStep);
}

// A filter that allows threads need not allow to name them or to change their scheduling. With idle_thread:on a filter
// has to allow the name.
void BackgroundThread::take_first_steps() {
  const bool is_unfiltered = is_unfiltered_.load(kRelaxed);
  if (is_unfiltered || !is_automatic_) os::name_thread("snug-idle");
  if (is_unfiltered) os::leave_real_time();
  has_taken_steps_.store(1, kRelease);
  StdAtomics::futex_wake(has_taken_steps_, 1);
}

void BackgroundThread::live() {
  take_first_steps();
  Lifecycle::live(*this);
  give_back_excess();
}

uint32_t BackgroundThread::period() const { return max(allocator.purge_after() / kLooks, kLeastPeriod); }

bool BackgroundThread::is_superfluous() const { return is_automatic_ && allocator.caches.cache_count() <= 1; }

// Once it has been sent away. Where libc tells that one thread is here, it starts with another (start()).
bool BackgroundThread::is_wanted_again(bool was_wanted) const {
  return !is_superfluous() || os::thread_count() > (was_wanted ? 0u : 1u);
}

// True if there are threads beside those with a cache and the calling thread, which has none.
bool BackgroundThread::sees_silent_threads() const {
  return is_automatic_ && os::thread_count() > allocator.caches.cache_count() + 1;
}

// A dismissed background thread stays unjoined, as main's thread does not wait.
void BackgroundThread::thread_ended() {
  if (is_main_thread()) {
    allocator.control.dismiss();
    return wake_event_.dismiss();
  }
  has_seen_end_.store(true, kRelaxed);
  Lifecycle::note_end(*this);
}

// In the child of a bare clone all says that the background thread is there, but it could never be joined.
void BackgroundThread::be_alone() {
  if (!is_automatic_ || sees_silent_threads()) return;
  const Atomic<bool>* const mark = process_mark_.load(kAcquire);
  if (mark != nullptr && !mark->load(kRelaxed)) return;
  if (Lifecycle::be_alone(*this)) sent_away_.note();
}

bool BackgroundThread::has_gone_lately() const { return sent_away_.is_within(kLeastPeriod); }

void BackgroundThread::before_fork() { forking_.store(true, kRelaxed); }

void BackgroundThread::after_fork_in_parent() {
  hands_.unlock_after_fork();
  forking_.store(false, kRelaxed);
}

void BackgroundThread::after_fork_in_child() {
  main_thread_.store(&thread_state, kRelaxed);
  if (is_automatic_) {
    wake_event_.clear_until_invited();
    if (os::thread_count() != 0) wake_event_.invite();  // it starts once libc counts another thread
    has_inherited_.store(true, kRelaxed);
  } else {
    wake_event_.clear();
  }
  is_unjoined_ = false;
  hands_.unlock_after_fork();
  refused_.has_been.store(false, kRelaxed);
  round_ends_.store(0, kRelaxed);  // the fork may have come within a round
  forking_.store(false, kRelaxed);
}

}  // namespace snug
