// Births of threads, with the threads that made them, and forks. A thread that libc makes by another function
// (thrd_create, a timer) is recorded at its first event, and so is one for which `births` has no room.
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

#include "recorder/exported.h"
#include "recorder/recording.h"
#include "recorder/watched.h"

namespace snug::recorder {

namespace {

using Routine = void*(void*);

// The start routine of a thread that is being made. An entry is in use only until the thread runs.
struct Birth {
  std::atomic<bool> is_taken;
  Routine* routine;
  void* argument;
  std::uint32_t parent;
};
constinit Birth births[256] = {};

// Null if all entries belong to threads that do not run yet: the calling thread may be what keeps them from running.
Birth* take_birth() {
  for (Birth& birth : births)
    if (!birth.is_taken.load(std::memory_order_relaxed) && !birth.is_taken.exchange(true, std::memory_order_acquire))
      return &birth;
  return nullptr;
}

void* run_thread(void* place) {
  auto& birth = *static_cast<Birth*>(place);
  Routine* const routine = birth.routine;
  void* const argument = birth.argument;
  this_thread.parent = birth.parent;
  birth.is_taken.store(false, std::memory_order_release);
  static_cast<void>(ring_for_event());
  return routine(argument);
}

}  // namespace

extern "C" RECORDER_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Routine* routine,
                                              void* argument) {
  if (!has_watched()) return EAGAIN;
  // The birth of a thread that the allocator makes is not recorded, but its allocations are.
  Birth* const birth = ring_for_event() != nullptr ? take_birth() : nullptr;
  if (birth == nullptr) return watched.pthread_create(thread, attributes, routine, argument);
  birth->routine = routine;
  birth->argument = argument;
  birth->parent = this_thread.number;
  const int error = watched.pthread_create(thread, attributes, run_thread, birth);
  if (error != 0) birth->is_taken.store(false, std::memory_order_release);
  return error;
}

extern "C" RECORDER_EXPORT pid_t fork() {
  if (!has_watched()) return -1;
  if (Ring* const ring = ring_for_event(); ring != nullptr) ring->has_forked.store(true, std::memory_order_relaxed);
  const pid_t child = watched.fork();
  if (child > 0) tell(static_cast<std::uint8_t>(Operation::kFork), static_cast<std::uint64_t>(child), 0);
  if (child == 0) static_cast<void>(ring_for_event());
  return child;
}

}  // namespace snug::recorder
