// IdleThread: a thread that gives empty memory back while the program does nothing. What frees do one by one as they
// pass, it does by the clock:
//
//   every purge_after / 4, 100 ms at least, while anything is ageing   gives back what is overdue, and takes what the
//   or threads allocate                                                caches of still threads have; once a half of
//                                                                      purge_after, it goes round the heaps
//   nothing is ageing                                                  sleeps until the next free that changes that
//
// idle_thread:on     starts once the heap has outgrown its first chunk or has a large block, and stays
// idle_thread:auto   starts once the process has a second thread, at once, since a filter of system calls may be set up
//                    later that knows nothing of it; if it is refused then, there is none. Once on its feet it calls
//                    futex and madvise alone. It leaves when one thread is left, and comes back with the next
//                    thread. The thread that ends and leaves one waits until it has gone: a program that has joined
//                    all its threads finds the process with one thread, which some calls of the OS ask for. Silent
//                    threads, which have never allocated, keep it too, as libc counts them; as they end without a word,
//                    it leaves when it next looks. Where threads begin and end one by one, it comes with one of them
//                    ten times a second at most.
//
// While it is here the stores keep more, as it sees to what grows old (span/kept_by_age.h). As it leaves, what is then
// too much goes at once, and whoever joins it waits for that.
//
// How it starts, not before the library has been initialised:
//
//   in the drop-in     right behind a pthread_create of the program's that has succeeded, which override/ passes on, so
//                      that no filter of system calls is met that forbids threads; the caller waits until it is on its
//                      feet. Called back, beside silent threads, it starts as in the archive
//   in the archive     in a slow allocation, once a second thread has a cache
//   idle_thread:on     in a slow allocation
//
// Never in a free: libc frees the records of ended threads under a lock that pthread_create takes. The thread allocates
// and frees nothing, so that it never has a cache. Where no filter watches it, it takes a name, and is scheduled as the
// process was at its start, whatever the thread is that has started it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/compiler.h"
#include "base/lock.h"
#include "base/units.h"
#include "heap/config.h"
#include "heap/idle_presence.h"
#include "os/doorbell.h"
#include "os/process.h"
#include "slab/heap_registry.h"
#include "thread/thread_state.h"

namespace snug {

class IdleThread {
 public:
  // For the parts of the heap: rung by whatever makes memory age.
  Doorbell& bell() { return bell_; }

  // From now on threads may be created: libc is ready, and so is the dynamic linker.
  void permit();

  // How it comes and goes, before it may. Without idle_thread:off.
  void open(IdleThreads mode);
  // From now on thread_made() is called for each thread.
  void begin_with_threads() { begins_with_threads_ = true; }
  // The program has begun a thread. The caller holds no lock.
  void thread_made();

  // To be called after a slow allocation, outside of every lock: creating a thread allocates.
  void start_if_wanted() {
    if (bell_.is_wanted() && !(is_automatic_ && os::is_single_threaded())) [[unlikely]]
      start();
  }
  // A thread has got a cache, and is one of so many.
  void thread_began(size_t caches) {
    const bool is_told = begins_with_threads_ && has_seen_threads_made_.load(std::memory_order_relaxed);
    if (is_automatic_ && !is_told && caches > 1 && !has_left_lately()) bell_.invite();
  }

  // False only if there is no such thread.
  bool may_exist() const { return bell_.is_attended(); }

  // A thread of the program has ended. libc ends a process with its last thread; if main's goes before the others, ours
  // must not be the one that keeps the process.
  void thread_ended();

  // Around a fork no thread is started, none has blocks in hand, and the child has no such thread. A process of one
  // thread does not wait for hands: it may fork in a signal handler in the midst of another fork.
  void before_fork();
  void wait_for_empty_hands() { hands_.lock_for_fork(); }

  // While it is held the thread has no blocks in hand, which count as in use. Before any heap's lock.
  Lock& hands() { return hands_; }
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  using Presence = IdlePresence<IdleThread>;
  friend Presence;

  SNUG_COLD void start();
  void watch_main_thread();
  bool is_main_thread() const;
  bool has_left_lately() const;
  void note_leave();
  void live();

  // For its presence.
  bool is_superfluous() const;
  bool sees_silent_threads() const;
  bool is_final() const { return is_automatic_; }  // what the OS refuses
  bool start_thread();
  void await_first_steps();
  void take_first_steps();
  void join_thread();
  template <class Step>
  bool exhaust(Step step);
  template <class Step, class MayGoOn>
  bool exhaust(Step step, MayGoOn may_go_on);
  bool give_back_overdue();
  void give_back_excess();
  void give_back_inherited();
  bool give_back_holes();
  bool anything_ages() const;

  alignas(kCacheLine) Doorbell bell_;
  bool is_automatic_ = false;
  bool begins_with_threads_ = false;
  std::atomic<bool> has_seen_threads_made_{false};
  std::atomic<bool> is_unfiltered_{false};  // the thread that was last started
  std::atomic<uint32_t> has_taken_steps_{0};
  std::atomic<const ThreadState*> main_thread_{nullptr};
  std::atomic<bool> permitted_{false};
  std::atomic<bool> forking_{false};
  std::atomic<bool> has_inherited_{false};  // a child of a fork, what was kept because the thread was in the parent
  std::atomic<uint32_t> gave_inherited_at_{0};
  std::atomic<bool> was_refused_{false};
  std::atomic<uint32_t> refused_at_{0};
  std::atomic<uint32_t> leaves_{0};
  std::atomic<uint32_t> left_at_{0};
  Lock hands_;          // held while it has blocks of a heap in hand
  pthread_t thread_{};  // from its arrival on, until it is joined
  bool is_unjoined_ = false;
  HeapRegistry::Pass pass_;
  uint32_t went_round_at_ = 0;
};

}  // namespace snug
