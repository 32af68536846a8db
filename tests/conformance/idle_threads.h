// Modes of idle.cc of programs in which threads come and go, and the background thread with them.
#pragma once

#include "idle_load.h"
#include "idle_sight.h"
#include "subject.h"
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace idle_threads {

using namespace idle_load;
using namespace idle_sight;

// What the tests' SNUG_CONF says.
constexpr long kPurgeAfter = 200;
constexpr long kLongEnough = 3 * kPurgeAfter + 1000;  // milliseconds

inline std::atomic<int> threads_created = 0;

// What was not missed yet goes at once. The second burst is kept, as stays() shows: only the background thread gives it
// back.
inline std::size_t fill_again() {
  fill();
  empty();
  return fill();
}

inline bool comes_back() {
  const std::size_t peak = fill_again();
  empty();
  return comes_below(peak, 5);
}

// It comes with the second thread, and goes with it.
inline bool comes_with_threads() {
  fill();
  empty();
  sleep_for(300);
  const std::size_t own = thread_count();
  for (int i = 0; i < 2; ++i) {
    {
      Companion companion;
      if (!has_threads(own + 2) || !comes_back()) return false;
      const pid_t child = fork();
      // A child of one thread has none, whatever it does.
      if (child == 0) _exit(fill() != 0 && (empty(), sleep_for(300), thread_count() == own) ? 0 : 1);
      if (result_of(child) != 0) return std::puts("in the child"), false;
    }
    if (!has_threads(own)) return false;
  }
  // One ends, another begins before it has left: it stays.
  {
    Companion companion;
    if (!has_threads(own + 2)) return false;
  }
  Companion next;
  sleep_for(1000);
  return has_threads(own + 2);
}

// A program that has joined all its threads has one thread where it `asks`, though the background thread would stay for
// another day. The OS may take a moment to stop counting a thread that libc has joined, longer on a busy machine.
template <class Asks>
bool is_alone_after_threads(Asks asks) {
  const std::size_t own = thread_count();
  int own_threads = 0;
  for (int round = 0; round < 100; ++round) {
    pthread_t threads[4];
    const auto run = [](void*) -> void* { return subject::free(made(1000)), nullptr; };
    const std::size_t count = 1 + static_cast<std::size_t>(round) % 4;
    for (std::size_t i = 0; i < count; ++i)
      if (pthread_create(threads + i, nullptr, run, nullptr) != 0) return false;
    subject::free(made(static_cast<std::size_t>(round) * 100));
    for (std::size_t i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
    own_threads += static_cast<int>(count);
    if (!asks()) return std::printf("round %d\n", round), false;
    if (!has_threads(own)) return std::printf("not alone in round %d\n", round), false;
  }
  return threads_created > own_threads || (std::puts("it has not come"), false);
}

// Programs look how many threads they fork beside.
inline bool forks_alone() {
  return is_alone_after_threads([] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    return result_of(child) == 0;
  });
}

// What the kernel refuses a process of several threads, and changes nothing in one of one: a call of either function,
// the second of which comes at once behind the first.
inline bool unshares() {
  return is_alone_after_threads([] {
    const bool is_refused = setns(-1, CLONE_NEWUSER) == -1 && errno == EBADF;
    return (is_refused && unshare(CLONE_THREAD) == 0) || (std::perror("setns, unshare"), false);
  });
}

// A child of which libc knows nothing has a copy of all that says that there is a background thread.
inline bool child_of_clone_calls() {
  {
    const Companion companion;
    if (!comes_to_exist()) return false;
  }
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    if (unshare(CLONE_THREAD) != 0) _exit(1);
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(0);
    _exit(result_of(grandchild) == 0 ? 0 : 2);
  }
  return result_of(child) == 0;
}

// Of threads that come and end together, all of them, nothing stays either.
inline bool gives_back_after_bursts() {
  constexpr int kThreads = 32;
  static pthread_barrier_t all;
  static std::size_t peak;
  pthread_barrier_init(&all, nullptr, kThreads);
  const auto run = [](void* number) -> void* {
    subject::free(made(100));  // in a static program a thread that has no cache does not keep the background thread
    void* const block = made(kMiB + reinterpret_cast<std::size_t>(number) * (kMiB / 8));
    if (pthread_barrier_wait(&all) != 0) peak = memory_held();
    pthread_barrier_wait(&all);
    return subject::free(block), nullptr;
  };
  for (int burst = 0; burst < 5; ++burst) {
    pthread_t threads[kThreads];
    for (std::size_t i = 0; i < kThreads; ++i)
      if (pthread_create(threads + i, nullptr, run, reinterpret_cast<void*>(i)) != 0) return false;
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  if (!comes_below(peak, 10)) return false;
  sleep_for(kLongEnough);  // it has left: ThreadSanitizer tells if none has joined it as the process ends
  return true;
}

inline bool leaves_after_silent_threads() {
  const std::size_t own = thread_count();
  bool has_come = false;
  {
    const SilentThread silent;
    for (std::size_t i = 0; i < 1000; ++i) subject::free(made(i * 100));
    has_come = threads_created == 2;  // it may have left again
  }
  return has_threads(own) && (has_come || (std::puts("it has not come"), false));
}

// What it has inherited goes some steps with each slow operation, though it frees nothing.
inline bool child_gives_back(std::size_t peak) {
  const auto works = [peak] {
    for (int i = 0; i < 20000; ++i) made(64);
    return memory_held() * 100 < peak * 30;
  };
  return comes_true(works, 20);
}

// What was in use a moment ago stays while the thread is here, so that the next burst finds it, and goes with it. The
// age at which the thread would give it back is far.
inline bool keeps_what_was_in_use() {
  const std::size_t own = thread_count();
  std::size_t peak = 0;
  {
    Companion companion;
    if (!has_threads(own + 2)) return false;
    peak = fill();
    if (stats().retain < peak) std::puts("the machine has too little memory"), std::exit(77);
    empty();
    if (expect_below(peak, 90)) return false;
    const std::size_t purged = stats().bytes_purged;
    fill();
    if (!expect_below(peak, 110) || stats().bytes_purged - purged > peak / 10) return false;
    empty();
    const pid_t child = fork();
    if (child == 0) _exit(child_gives_back(peak) ? 0 : 1);
    if (result_of(child) != 0) return std::puts("in the child"), false;
  }
  const pid_t child = fork();  // sends it away
  if (child == 0) _exit(0);
  return result_of(child) == 0 && has_threads(own) && expect_below(peak, 30);
}

// As in Redis: the background threads sleep, all memory is the main thread's, and it sleeps too in the end.
inline bool serves_beside_silent_threads() {
  const std::size_t own = thread_count();
  {
    const SilentThread silent;
    // Another that has a cache ends, at once and later, but not the silent one.
    for (int i = 0; i < 3; ++i) {
      std::make_unique<Companion>().reset();
      if (!comes_back()) return false;
    }
    const pid_t child = fork();
    if (child == 0) {
      const SilentThread other;
      _exit(comes_back() ? 0 : 1);
    }
    if (result_of(child) != 0) return std::puts("in the child"), false;
  }
  return has_threads(own);
}

// Threads that begin and end one by one do not each bring it: it stays for a while.
inline bool does_not_come_with_each_thread() {
  constexpr int kOwn = 300;
  const auto run = [](void*) -> void* { return subject::free(made(1000)), nullptr; };
  const long begin = tenths_of_seconds();
  for (std::size_t round = 0; round < kOwn; ++round) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run, nullptr) != 0) return false;
    subject::free(made(round * 100));
    pthread_join(thread, nullptr);
  }
  const long tenths = tenths_of_seconds() - begin + 2;
  const int came = threads_created - kOwn;
  std::printf("it came %d times in %ld tenths of a second\n", came, tenths);
  return came >= 1 && came <= 1 + tenths / 4;
}

}  // namespace idle_threads
