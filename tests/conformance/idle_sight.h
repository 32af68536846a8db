// What can be seen of the background thread from outside: whether it is there, its files in /proc, and how a child
// ended.
#pragma once

#include "named_thread.h"
#include "threads.h"

#include <sys/wait.h>

#include <cstdio>

namespace idle_sight {

// The path of a file of the thread named snug-idle, or "" if there is none.
inline const char* file_of_thread(const char* file) {
  static char path[128];
  const long thread = thread_named("snug-idle");
  if (thread == 0) return "";
  std::snprintf(path, sizeof path, "/proc/self/task/%ld/%s", thread, file);
  return path;
}

inline bool exists() { return *file_of_thread("status") != 0; }

// It gives itself its name once it runs.
inline bool comes_to_exist() { return comes_true(exists); }

// Of a child that has ended: 0 if all was well.
inline int result_of(pid_t child) {
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

}  // namespace idle_sight
