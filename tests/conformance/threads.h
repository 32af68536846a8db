// How many threads the process has, and one that is there for as long as it is wanted.
#pragma once

#include <dirent.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "subject.h"
#include "waiting.h"

using support::comes_true;

inline void sleep_for(long milliseconds) {
  timespec left{milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

inline long tenths_of_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 10 + now.tv_nsec / 100'000'000;
}

inline std::size_t thread_count() {
  DIR* tasks = opendir("/proc/self/task");
  std::size_t count = 0;
  while (const dirent* task = readdir(tasks))
    if (task->d_name[0] != '.') ++count;
  closedir(tasks);
  return count;
}

inline bool has_threads(std::size_t count) {
  comes_true([count] { return thread_count() == count; });
  const std::size_t now = thread_count();
  if (now != count) std::printf("%zu threads, where %zu are expected\n", now, count);
  return now == count;
}

// A thread that allocates once, and is there until it is let go.
class Companion {
 public:
  Companion() {
    pthread_mutex_lock(&mutex_);
    pthread_create(&thread_, nullptr, run, this);
    while (!has_begun_) sleep_for(1);
  }
  ~Companion() {
    pthread_mutex_unlock(&mutex_);
    pthread_join(thread_, nullptr);
  }

 private:
  static void* run(void* self) {
    auto& companion = *static_cast<Companion*>(self);
    subject::free(subject::malloc(100));
    companion.has_begun_ = true;
    pthread_mutex_lock(&companion.mutex_);
    pthread_mutex_unlock(&companion.mutex_);
    return nullptr;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_t thread_{};
  std::atomic<bool> has_begun_{false};
};

// A thread that never allocates, and says nothing when it ends.
class SilentThread {
 public:
  SilentThread() {
    const auto run = [](void* self) -> void* {
      while (!static_cast<SilentThread*>(self)->is_to_end_.load()) sleep_for(1);
      return nullptr;
    };
    if (pthread_create(&thread_, nullptr, run, this) != 0) std::abort();
  }
  ~SilentThread() {
    is_to_end_.store(true);
    pthread_join(thread_, nullptr);
  }

 private:
  std::atomic<bool> is_to_end_{false};
  pthread_t thread_;
};
