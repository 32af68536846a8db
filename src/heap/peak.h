// Peak: the attribution of the moment at which most was in memory, for who reports it at the end of the process.
//
// It is looked for before memory is taken or given back, when the program has written to what it had. A look walks the
// whole heap, so it waits until the heap has grown by a twentieth since the last one, and may hold a twentieth more
// than at the highest: then all looks together walk some twenty times what the last one does. So a peak is missed by a
// twentieth at most, unless the program writes late to what it had long since. What is asked first costs a sum of
// counters:
//
//   grown      bytes that were taken of memory that the OS had yet to back, so far
//   committed  bytes that may be in memory now: it is only more by what has grown since
//
// Where nothing is reported a slow operation reads one word of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/lock.h"
#include "heap/attribution.h"

namespace snug {

class Peak {
 public:
  // Before any other use, if the peak is to be known.
  void watch() { next_look_.store(0, std::memory_order_relaxed); }
  bool is_watched() const { return next_look_.load(std::memory_order_relaxed) != kNever; }

  // In a slow operation of a thread that holds no lock: a request of the class has found the thread's cache empty.
  void note_request(size_t size_class, size_t size) { samples_.add(size_class, size); }
  // The same of a thread that is about to take memory or to give it back.
  void look_as_due() {
    const size_t next = next_look_.load(std::memory_order_relaxed);
    if (next != kNever && grown() >= next) look();
  }

  // The highest so far, this moment included; null if the kernel does not say. Nobody else may be looking.
  const Attribution* conclude();
  uint64_t looks() const { return looks_; }

  // Of this moment. False if the kernel does not say.
  bool measure(snug_memory& memory);

  void before_fork() { has_forked_.store(true, std::memory_order_relaxed); }
  // The child has a peak of its own.
  void after_fork_in_child();

 private:
  static constexpr size_t kNever = SIZE_MAX;

  static size_t grown();
  static size_t committed();
  void look();
  uint64_t enough() const;  // bytes in memory that are worth another look
  void measure_now(uint64_t to_beat);

  std::atomic<size_t> next_look_{kNever};  // when so much has grown
  std::atomic<bool> has_forked_{false};
  Lock lock_;  // of what follows, over a whole walk: who looks for a peak only tries it
  uint64_t looks_ = 0;
  Attribution now_;
  Attribution highest_;
  SizeSamples samples_;
};

}  // namespace snug
