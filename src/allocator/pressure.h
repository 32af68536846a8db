// Pressure: the program's callbacks that free memory (include/snug/limits.h).
//
// Callbacks run in any thread that asks for memory, several at once, and in the background thread: of a stall, and of
// the soft limit where that thread watches the container. One that is taken away runs to its end, for which the call
// that takes it away waits, unless it comes from inside.
//
// A thread is in one callback at a time: `thread_state.asked` names it, so that a request inside it asks no other. The
// lock is held to read and change the table, never while a callback runs.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/fixed_array.h"
#include "base/lock.h"
#include "snug/limits.h"
#include "thread/thread_state.h"

namespace snug {

class Pressure {
 public:
  static constexpr size_t kMostCallbacks = 16;

  // 0, or EINVAL or ENOSPC. Without levels it waits until no other thread is in the callback, unless it is called
  // inside one.
  int watch(snug_pressure_callback callback, void* argument, unsigned levels);
  // True if there is a callback for the level, and the calling thread is in none. Needs no lock.
  bool may_ask(unsigned level) const;
  // Calls the callbacks for the level, one after the other. The caller holds no lock of the allocator's. True if any
  // has freed something.
  bool ask(const snug_pressure& pressure);

  // Not for a wish (below).
  void count_refusal() {
    if (thread_state.asked != kWish) refused_.fetch_add(1, kRelaxed);
  }
  uint64_t asked() const { return asked_.load(kRelaxed); }
  uint64_t refused() const { return refused_.load(kRelaxed); }

  Lock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork, and while the limits change
  // The child has the calling thread alone, which may be in a callback.
  void after_fork_in_child() SNUG_UNPROVED;

 private:
  friend class PressurePause;
  friend class Wish;

  // What thread_state.asked names beside callbacks.
  static constexpr uint8_t kNone = kMostCallbacks + 1;
  static constexpr uint8_t kWish = kMostCallbacks + 2;

  struct Watcher {
    snug_pressure_callback callback = nullptr;
    void* argument = nullptr;
    unsigned levels = 0;
    uint32_t threads = 0;  // that are in it
  };

  Watcher* find(snug_pressure_callback callback, void* argument) SNUG_REQUIRES(lock_);
  void note_levels() SNUG_REQUIRES(lock_);

  Lock lock_;
  FixedArray<Watcher, kMostCallbacks> watchers_ SNUG_GUARDED_BY(lock_){};
  Atomic<unsigned> levels_{0};  // for which there is a callback
  Atomic<uint64_t> asked_{0};
  Atomic<uint64_t> refused_{0};
};

// While it lives the calling thread asks no callback. For a request in the midst of another of snug's, which a callback
// may want to use.
class PressurePause {
 public:
  PressurePause() : asked_(exchange(thread_state.asked, Pressure::kNone)) {}
  ~PressurePause() { thread_state.asked = asked_; }
  PressurePause(const PressurePause&) = delete;
  PressurePause& operator=(const PressurePause&) = delete;

 private:
  const uint8_t asked_;
};

// While it lives, what the calling thread requests is a wish, if `is_one`: its refusal is no failure of the program's,
// which has a block that serves as well. No callback is asked, and the refusal is not counted.
class Wish {
 public:
  explicit Wish(bool is_one) : asked_(thread_state.asked) {
    if (is_one) thread_state.asked = Pressure::kWish;
  }
  ~Wish() { thread_state.asked = asked_; }
  Wish(const Wish&) = delete;
  Wish& operator=(const Wish&) = delete;

 private:
  const uint8_t asked_;
};

}  // namespace snug
