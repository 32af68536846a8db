// waiting.h: a test waits for what must come, and not for a time. No part of snug: for programs on any malloc.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace support {

// Whether it does in ten minutes or more: so long a busy machine may keep a thread from running that else takes
// milliseconds. Looks are counted, as the process may be stopped as a whole.
template <class Condition>
bool comes_true(Condition condition, int looks = 30'000) {
  while (!condition()) {
    if (--looks == 0) return false;
    usleep(20'000);
  }
  return true;
}

// Whether the thread sleeps, or is gone.
inline bool is_asleep(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(thread));
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) return true;
  char state = '?';
  const int got = std::fscanf(file, "%*d (%*[^)]) %c", &state);
  std::fclose(file);
  return got != 1 || state == 'S';
}

// Returns once so many looks in a row have found the thread asleep. One is enough for a thread that only waits from now
// on; where it waits by short sleeps, as for a fork gate, many in a row seldom come.
inline void await_asleep(pid_t thread, int looks = 1) {
  for (int asleep = 0; asleep < looks; asleep = is_asleep(thread) ? asleep + 1 : 0) usleep(1000);
}

// A thread that says that it will wait, and another that goes on when it does.
class Waiter {
 public:
  // In the thread itself, right before it waits.
  void announce() {
    thread_.store(gettid());
    thread_.notify_all();
  }
  void await_asleep() const {
    thread_.wait(0);
    support::await_asleep(thread_.load());
  }

 private:
  std::atomic<pid_t> thread_{0};
};

}  // namespace support
