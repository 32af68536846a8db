// BackgroundThread: a thread that gives empty memory back while the program does nothing. What frees otherwise do on
// the way, it does periodically:
//
//   every purge_after / 4, 100 ms at least, while anything is ageing   gives back what is overdue, and empties the
//   or threads allocate                                                caches of still threads; every purge_after / 2
//                                                                      it makes a pass over the heaps
//   nothing is ageing                                                  sleeps until the next free that changes that
//
// idle_thread:on     starts once the heap has outgrown its first chunk or has a large block, and stays; with publish:on
//                    in the first slow allocation that may start it
// idle_thread:auto   starts as soon as the process has a second thread, since a filter of system calls that is set up
//                    later may not allow it; if the OS refuses it then, there is none. Once started it calls only
//                    futex, madvise, munmap and mmap, unless it looks at the container. It leaves when one thread has
//                    been left for purge_after, so that what the others have left has gone too, and comes back with the
//                    next thread. Before that it is sent away by a fork and, in the drop-in, by unshare() and setns(),
//                    which fail in a process of several threads: the caller waits until it has gone. Silent threads,
//                    which have never allocated, keep it too, as libc counts them.
//
// While it runs the stores keep more, as it purges what grows old (span/keeping.h). When it leaves, it gives back
// at once what is then too much, and a thread that has sent it away waits for that.
//
// How it starts, not before the library has been initialised:
//
//   in the drop-in     right behind a successful pthread_create of the program's, which c_interface/ forwards, when no
//                      filter of system calls forbids threads yet; the caller waits until it has taken its first steps.
//                      When it comes back beside silent threads, it starts as in the archive
//   in the archive     in a slow allocation, once a second thread has a cache
//   idle_thread:on     in a slow allocation
//
// Never in a free: libc frees the records of ended threads under a lock that pthread_create takes. The thread allocates
// nothing, and frees nothing but what threads with deadlines have left to others, by a way without a cache; so it has
// no cache, unless the program's callbacks (allocator/limits.cpp) allocate. For those it also reads files. Without a
// filter of system calls it takes a name, and is scheduled as the process was at its start, whatever thread has started
// it.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "allocator/background_lifecycle.h"
#include "allocator/config.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/wake_event.h"
#include "slab/heap_registry.h"
#include "thread/thread_state.h"

namespace snug {

class BackgroundThread {
 public:
  // For the parts of the heap, which notify it when memory begins to age.
  WakeEvent& wake_event() { return wake_event_; }

  // From now on threads may be created. Called when the library is loaded, by main's thread as a rule, to which it
  // gives a cache if the allocator is open: its end is to be noticed. The caller holds no lock.
  void permit();

  // Sets how it comes and goes. Called as the allocator opens, with the first allocation. Not with idle_thread:off.
  void open(BackgroundThreadMode mode);
  // Calls for the thread, whether anything ages or not.
  void invite() { wake_event_.invite(); }
  // For `snug replay`, between two stretches of the program, of which no thread runs: has the thread make a round, and
  // returns when it has, with the milliseconds until its next. 0: there is no such thread now.
  uint32_t make_round_now();
  // From now on thread_made() is called for each thread.
  void begin_with_threads() { begins_with_threads_ = true; }
  // The program has begun a thread. The caller holds no lock.
  void thread_made();
  // If the calling thread is the program's only one, returns when the background thread has gone too, for libc at
  // least. Not with idle_thread:on, and not in a child of which libc knows nothing (bare clone). The caller holds no
  // lock.
  void be_alone();
  // True for a moment after be_alone() has seen it go, in which the kernel may still count the thread.
  bool has_gone_lately() const;

  // To be called after a slow allocation, outside of every lock: creating a thread allocates.
  void start_if_wanted() {
    if (wake_event_.is_wanted() && !(is_automatic_ && os::is_single_threaded())) [[unlikely]]
      start();
  }
  // Called when a thread has got a cache; `caches` is how many there are now.
  void thread_began(size_t caches) {
    const bool is_told = begins_with_threads_ && has_seen_threads_made_.load(kRelaxed);
    if (is_automatic_ && !is_told && caches > 1) wake_event_.invite();
  }

  // False only if there is no background thread.
  bool may_exist() const { return wake_event_.is_attended(); }

  // Called when a thread of the program has ended. libc ends a process with its last thread; if main's ends before the
  // others, the background thread must not keep the process alive.
  void thread_ended();

  // Around a fork no background thread is started, none has blocks detached, and the child has none. A process of one
  // thread does not wait for empty hands: it may fork in a signal handler in the midst of another fork.
  void before_fork();
  void wait_for_empty_hands() SNUG_ACQUIRE(hands_) { hands_.lock_for_fork(); }

  // While another thread holds it, the background thread has no blocks detached, which would count as in use. To be
  // taken before any heap's lock.
  Lock& hands() SNUG_RETURNS_LOCK(hands_) { return hands_; }
  void after_fork_in_parent() SNUG_RELEASE(hands_);
  void after_fork_in_child() SNUG_RELEASE(hands_);

 private:
  using Lifecycle = BackgroundLifecycle<BackgroundThread>;
  friend Lifecycle;

  // When something last happened, if it has.
  struct LastTime {
    void note() {
      at.store(os::milliseconds(), kRelaxed);
      has_been.store(true, kRelaxed);
    }
    bool is_within(uint32_t milliseconds) const {
      return has_been.load(kRelaxed) && os::milliseconds() - at.load(kRelaxed) < milliseconds;
    }

    Atomic<bool> has_been{false};
    Atomic<uint32_t> at{0};
  };

  SNUG_COLD void start();
  // Gives the calling thread a cache if it is main's, so that main's end is noticed. The caller holds no lock.
  void start_cache_if_main();
  bool is_main_thread() const;
  void live();

  // For BackgroundLifecycle.
  static constexpr uint32_t kLooks = KeptBounds::kLooks;  // rounds of work in purge_after
  uint32_t period() const;                                // milliseconds between two rounds
  bool is_superfluous() const;
  bool sees_silent_threads() const;
  bool is_wanted_again(bool was_wanted) const;
  bool has_seen_end() { return has_seen_end_.load(kRelaxed) && has_seen_end_.exchange(false, kRelaxed); }
  bool is_final() const { return is_automatic_; }  // a refusal of the thread by the OS
  bool start_thread();
  void mark_process();
  void join_thread();
  // Of the new thread and the one that has started it, which waits for a second at most, and with idle_thread:auto
  // alone; it holds no lock.
  void take_first_steps();
  void await_first_steps();
  template <class Step>
  bool exhaust(Step step);
  template <class Step, class MayGoOn>
  bool exhaust(Step step, MayGoOn may_go_on);
  bool give_back_overdue();
  bool give_back_all_overdue();
  void give_back_excess();
  void give_back_inherited();
  bool anything_ages() const;
  bool looks_by_itself() const;

  alignas(kCacheLine) WakeEvent wake_event_;
  bool is_automatic_ = false;
  bool begins_with_threads_ = false;
  Atomic<bool> has_seen_threads_made_{false};
  Atomic<bool> is_unfiltered_{false};  // no filter of system calls when the thread was last started
  Atomic<uint32_t> has_taken_steps_{0};
  Atomic<const ThreadState*> main_thread_{nullptr};
  Atomic<bool> permitted_{false};
  Atomic<bool> forking_{false};
  Atomic<bool> has_inherited_{false};  // in a child: memory that was kept because the parent has a background thread
  Atomic<uint32_t> gave_inherited_at_{0};
  LastTime refused_;                             // by the OS
  LastTime sent_away_;                           // and gone
  Atomic<bool> has_seen_end_{false};             // of a thread, since the last round
  Atomic<Atomic<bool>*> process_mark_{nullptr};  // true in the process that has started it, in no child; or null
  Lock hands_;                                   // held while the background thread has blocks of a heap detached
  pthread_t thread_{};                           // from its arrival on, until it is joined
  bool is_unjoined_ = false;
  HeapRegistry::Pass pass_;
  uint32_t went_round_at_ = 0;
  Atomic<uint32_t> round_ends_{0};  // beginnings and ends of rounds: odd in a round
};

}  // namespace snug
