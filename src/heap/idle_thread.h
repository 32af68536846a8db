// IdleThread: a thread that gives empty memory back while the program does nothing (idle_thread:on; there is none
// otherwise). What frees do one by one as they pass, it does by the clock:
//
//   every purge_after / 4, 100 ms at least, while anything is ageing   gives back all that is overdue
//   nothing is ageing                                                  sleeps until the next free that changes that
//
// It starts in a slow allocation, once the heap has outgrown its first chunk or has a large block, and not before the
// library has been initialised. Never in a free: libc frees the records of ended threads under a lock that
// pthread_create takes. The thread allocates and frees nothing, so that it never has a cache.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/compiler.h"
#include "base/units.h"
#include "os/doorbell.h"

namespace snug {

class IdleThread {
 public:
  // For the parts of the heap: rung by whatever makes memory age.
  Doorbell& bell() { return bell_; }

  // From now on threads may be created: libc is ready, and so is the dynamic linker.
  void permit();

  // To be called after a slow allocation, outside of every lock: creating a thread allocates.
  void start_if_wanted() {
    if (bell_.is_wanted()) [[unlikely]]
      start();
  }

  // False only if there is no such thread.
  bool may_exist() const { return bell_.is_attended(); }

  // A thread of the program has ended. libc ends a process with its last thread; if main's goes before the others, ours
  // must not be the one that keeps the process.
  void thread_ended();

  // Around a fork no thread is started, and the child has none.
  void before_fork() { forking_.store(true, std::memory_order_relaxed); }
  void after_fork_in_parent() { forking_.store(false, std::memory_order_relaxed); }
  void after_fork_in_child();

 private:
  SNUG_COLD void start();
  void watch_main_thread();
  void live();

  alignas(kCacheLine) Doorbell bell_;
  std::atomic<bool> permitted_{false};
  std::atomic<bool> forking_{false};
  std::atomic<bool> was_refused_{false};
  std::atomic<uint32_t> refused_at_{0};
};

}  // namespace snug
