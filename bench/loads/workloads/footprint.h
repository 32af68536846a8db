// What the heap under test weighs while threads sleep. The base is read when all threads run and have touched their
// stacks: their stacks, and the arrays of the program that are there by then, are not counted.
#pragma once

#include <pthread.h>

#include "workload.h"

namespace workload {

// Anonymous memory over that at the time of construction.
class Footprint {
 public:
  Footprint() {
    anonymous_kib();  // so that what it touches is there
    base_kib_ = anonymous_kib();
  }
  double kib() const {
    const size_t now = anonymous_kib();
    return now > base_kib_ ? static_cast<double>(now - base_kib_) : 0;
  }
  double mib() const { return kib() / 1024; }

 private:
  size_t base_kib_;
};

// Calls malloc_trim if the allocator has one. The figures named `trimmed` are read after it.
inline void trim_heap() {
  if (const Trim trim = find_trim()) trim(0);
}

// Touches the stack that the allocator will use, so that it is not counted as the allocator's.
[[gnu::noinline]] inline void touch_stack() {
  volatile char stack[16384];
  for (size_t i = 0; i < sizeof stack; i += 512) stack[i] = 1;
}

// Where `count` threads wait for each other. Asleep, and nothing of it is of the heap under test.
class Barrier {
 public:
  explicit Barrier(unsigned count) { pthread_barrier_init(&barrier_, nullptr, count); }
  ~Barrier() { pthread_barrier_destroy(&barrier_); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  void wait() { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

// Runs work(0) … work(count - 1) at the same time, each in a thread of its own that sleeps afterwards, and then
// meanwhile(footprint) in the caller, while all of them sleep. ns from the first one's start to the last one's end.
template <typename Work, typename Meanwhile>
double run_and_sleep(unsigned count, Work&& work, Meanwhile&& meanwhile) {
  Barrier barrier(count + 1);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (unsigned t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      touch_stack();
      barrier.wait();  // all are there
      barrier.wait();  // the base is read
      work(t);
      barrier.wait();  // all have done
      barrier.wait();  // they may leave
    });
  }
  barrier.wait();
  const Footprint footprint;
  const double start = now_ns();
  barrier.wait();
  barrier.wait();
  const double end = now_ns();
  meanwhile(footprint);
  barrier.wait();
  for (std::thread& thread : threads) thread.join();
  return end - start;
}

}  // namespace workload
