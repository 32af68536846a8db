// SharedHolds: in builds with assertions, counts the process-wide locks that the calling thread holds, so that a system
// call under one ends the process; and how often such locks were taken, and in which functions. A thread that waits in
// the kernel while it holds one holds up all other threads. Empty in release builds.
//
// Exempt are futexes, by which a thread waits for another lock or wakes its waiters; write, which reports a fatal
// error; the forking thread, which holds all locks; MetaArena::stock_late(), the last resort for memory; and
// CompactFit::Standstill, during which a function of the caller's runs.
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

#include "base/atomic.h"
#include "base/call_site.h"
#include "base/fatal.h"

namespace snug {

// The name of the function that takes a lock, passed as a default argument. Empty in release builds.
#ifdef NDEBUG
struct TakenIn {
  constexpr TakenIn(CallSite) {}  // NOLINT(google-explicit-constructor): a default argument
};
#else
struct TakenIn {
  constexpr TakenIn(CallSite where)  // NOLINT(google-explicit-constructor): a default argument
      : function(where.function_name()), file(where.file_name()) {}
  const char* function;
  const char* file;
};
#endif

class SharedHolds {
 public:
#ifdef NDEBUG
  static constexpr bool kCounted = false;
  static void add() {}
  static void remove() {}
  static void begin_exemption() {}
  static void end_exemption() {}
  static void name(TakenIn) {}
  static void count_taking(TakenIn) {}
  static uint64_t taken() { return 0; }
  template <class Visit>
  static void for_each_function(Visit) {}
  static void expect_none(long) {}
#else
  static constexpr bool kCounted = true;
  static void add() {
    ++held_;
    taken_.fetch_add(1, kRelaxed);
    count(where_);
    where_ = kOther;
  }
  static void remove() { --held_; }
  static void begin_exemption() { ++exemptions_; }
  static void end_exemption() { --exemptions_; }
  // Names the function in which the calling thread is about to take a lock; counted if that is a SharedLock.
  static void name(TakenIn where) { where_ = where; }
  // Counts that a lock was taken which all threads may want, but which is no SharedLock.
  static void count_taking(TakenIn where) { count(where); }
  static uint64_t taken() { return taken_.load(kRelaxed); }
  // Calls visit(file, function, takings) for each function that has taken a lock; perhaps several times for the same.
  template <class Visit>
  static void for_each_function(Visit visit) {
    for (const Place& place : places_)
      if (const char* file = place.file.load(kAcquire); file != nullptr)
        visit(file, place.function.load(kRelaxed), place.takings.load(kRelaxed));
  }

  static void expect_none(long system_call) {
    if (held_ == 0 || exemptions_ != 0 || system_call == SYS_futex || system_call == SYS_write) return;
    die_of_bug("a system call under a process-wide lock", "system call", static_cast<int>(system_call));
  }

 private:
  struct Place {
    Atomic<const char*> function;
    Atomic<const char*> file;  // written last
    Atomic<uint64_t> takings;
  };
  static constexpr TakenIn kOther{CallSite::current("other", "")};

  static void count(TakenIn where) {
    for (Place& place : places_) {
      if (!is_for(place, where)) continue;
      place.takings.fetch_add(1, kRelaxed);
      return;
    }
  }
  // True if the place is the function's; an unused place becomes the function's.
  static bool is_for(Place& place, TakenIn where) {
    const char* seen = place.function.load(kRelaxed);
    if (seen == nullptr && place.function.compare_exchange_strong(seen, where.function, kRelaxed)) {
      place.file.store(where.file, kRelease);
      return true;
    }
    return seen == where.function && place.file.load(kRelaxed) == where.file;
  }

  // More than there are such functions.
  static inline constinit Place places_[128];
  SNUG_INITIAL_EXEC static inline constinit thread_local TakenIn where_ = kOther;
  SNUG_INITIAL_EXEC static inline constinit thread_local uint32_t held_ = 0;
  SNUG_INITIAL_EXEC static inline constinit thread_local uint32_t exemptions_ = 0;
  static inline constinit Atomic<uint64_t> taken_{0};
#endif
};

}  // namespace snug
