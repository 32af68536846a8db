// What can be seen of the background thread from outside: whether it is there, its files in /proc, and how a child
// ended.
#pragma once

#include "threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace idle_sight {

// The path of a file of the thread named snug-idle, or "" if there is none.
inline const char* file_of_thread(const char* file) {
  static char path[128];
  DIR* tasks = opendir("/proc/self/task");
  const char* found = "";
  while (const dirent* task = readdir(tasks)) {
    char name[32] = "";
    std::snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", task->d_name);
    const int comm = open(path, O_RDONLY | O_CLOEXEC);
    if (comm < 0) continue;
    const ssize_t length = read(comm, name, sizeof name - 1);
    close(comm);
    if (length <= 0 || std::strcmp(name, "snug-idle\n") != 0) continue;
    std::snprintf(path, sizeof path, "/proc/self/task/%.16s/%s", task->d_name, file);
    found = path;
    break;
  }
  closedir(tasks);
  return found;
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
