/* named_thread.h: the thread of this process that has a name. In C and C++. Allocates, and gives that back. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its number; 0 if there is none. */
static inline long thread_named(const char* name) {
  long found = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 0;
  for (struct dirent* task; found == 0 && (task = readdir(tasks)) != NULL;) {
    char path[64], line[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", task->d_name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    if (read(file, line, sizeof line - 1) > 0) line[strcspn(line, "\n")] = 0;
    close(file);
    if (strcmp(line, name) == 0) found = strtol(task->d_name, NULL, 10);
  }
  closedir(tasks);
  return found;
}

static inline bool has_thread_named(const char* name) { return thread_named(name) != 0; }
