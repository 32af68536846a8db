/* named_thread.h: whether a thread of this process has the name. In C and C++. Allocates, and gives that back. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static inline bool has_thread_named(const char* name) {
  bool found = false;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return false;
  for (struct dirent* task; !found && (task = readdir(tasks)) != NULL;) {
    char path[300], line[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE* file = fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(line, sizeof line, file) != NULL) line[strcspn(line, "\n")] = 0;
    fclose(file);
    found = task->d_name[0] != '.' && strcmp(line, name) == 0;
  }
  closedir(tasks);
  return found;
}
