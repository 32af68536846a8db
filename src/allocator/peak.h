// Peak: the attribution of the moment at which most was in memory, for the report at the end of the process.
//
// It is searched for before memory is taken or given back, when the program has written to what it had. A look walks
// the whole heap, so the next one waits until the heap has grown by a twentieth, and may hold a twentieth more than at
// the highest look: then all looks together walk some twenty times what the last one does. So the peak found is too low
// by a twentieth at most, unless the program writes late to memory that it had long before. Two sums of counters decide
// whether to look:
//
//   grown      bytes taken so far of memory that the OS had yet to back
//   committed  bytes that may be in memory now: it rises only by what has grown since
//
// By the same sums the growth is noticed at which a profile is to be written (profile_at): the next look is due when
// `grown` has risen by what `committed` has yet to rise, no earlier.
//
// Without either a slow operation reads one word of this.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "allocator/attribution.h"
#include "base/atomic.h"
#include "base/lock.h"

namespace snug {

class Peak {
 public:
  // Called before any other use, if the peak is wanted.
  void watch(MetaArena& arena) {
    sizes_.open(arena);
    is_wanted_ = true;
    next_look_.store(0, kRelaxed);
  }
  // The same, if `tell` is to be called each time that the heap holds `step` bytes more than when it was last: by a
  // thread that holds no lock.
  void tell_growth(size_t step, void (*tell)()) SNUG_UNPROVED {
    step_ = step;
    tell_ = tell;
    next_look_.store(0, kRelaxed);
  }
  bool is_watched() const { return next_look_.load(kRelaxed) != kNever; }
  bool is_wanted() const { return is_wanted_; }

  // Notes what a block of the class was asked for, before it is handed out. The caller has asked is_wanted(), and may
  // hold any lock.
  void note_request(size_t size_class, const void* block, size_t size) { sizes_.note(size_class, block, size); }
  // Called by a thread that holds no lock, before it takes memory or gives it back.
  void look_as_due() {
    const size_t next = next_look_.load(kRelaxed);
    if (next != kNever && grown() >= next) look();
  }

  // The highest so far, this moment included; null if the kernel does not say. No other thread may use this meanwhile.
  const Attribution* conclude() SNUG_UNPROVED;
  uint64_t looks() const { return looks_; }

  // Attributes the memory of this moment. False if the kernel does not say.
  bool measure(snug_memory& memory);

  void before_fork() { has_forked_.store(true, kRelaxed); }
  // Makes the lock anew, which no fork takes, and begins a peak of the child's own; the sizes of requests stay.
  void after_fork_in_child() SNUG_UNPROVED;

 private:
  static constexpr size_t kNever = SIZE_MAX;

  static size_t grown();
  static size_t committed();
  // Walks the heap if more may be in memory than at the peak, and sets when to look next.
  void look();
  uint64_t enough() const SNUG_REQUIRES(lock_);  // bytes in memory that are worth another look
  void measure_now(uint64_t to_beat) SNUG_REQUIRES(lock_);
  size_t look_for_peak(size_t grown, size_t committed) SNUG_REQUIRES(lock_);

  Atomic<size_t> next_look_{kNever};  // look again when grown() is so much
  Atomic<bool> has_forked_{false};
  Lock lock_;  // held over a whole walk; look() only tries it
  bool is_wanted_ = false;
  size_t step_ = 0;  // 0: nothing is to be told
  void (*tell_)() = nullptr;
  size_t told_at_ SNUG_GUARDED_BY(lock_) = 0;  // bytes committed
  uint64_t looks_ = 0;
  Attribution now_ SNUG_GUARDED_BY(lock_);
  Attribution highest_ SNUG_GUARDED_BY(lock_);
  RequestSizes sizes_;
};

}  // namespace snug
