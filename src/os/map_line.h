// A line of /proc/thread-self/maps: "start-end rwxp offset device inode   path".
#pragma once

#include <stdint.h>

#include "os/input_file.h"

namespace snug::os {

struct MapLine {
  uintptr_t start = 0;
  uintptr_t end = 0;
  uint64_t offset = 0;
  bool is_readable = false;
  bool is_executable = false;
  const char* path = "";
};

// `path` of the result lies in the line.
MapLine parse_map_line(const char* line);

// Calls visit(const MapLine&) for each line, until it returns true; true if it did. Longer lines are cut.
template <class Visit>
bool for_each_map_line(Visit visit) {
  InputFile maps("/proc/thread-self/maps");  // once main's thread has ended, /proc/self has none
  char bytes[1024];
  char line[1024];
  size_t length = 0;
  while (const size_t count = maps.read(bytes, sizeof bytes)) {
    for (size_t i = 0; i != count; ++i) {
      if (bytes[i] != '\n') {
        if (length + 1 < sizeof line) line[length++] = bytes[i];
        continue;
      }
      line[length] = 0;
      length = 0;
      if (visit(parse_map_line(line))) return true;
    }
  }
  return false;
}

}  // namespace snug::os
