#include "os/memory_limit.h"

#include <stdint.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/fixed_array.h"
#include "base/text.h"
#include "os/input_file.h"

namespace snug::os {
namespace {

// Buffers are short, as a thread's stack may be small.
constexpr size_t kMostPath = 1024;
constexpr int kMostGroups = 32;

// The number in a file; SIZE_MAX if the file contains a word, "max" for instance, or does not exist.
size_t number_in(const char* path) {
  char text[32];
  InputFile file(path);
  const size_t length = file.read(text, sizeof text);
  size_t number = 0;
  size_t i = 0;
  for (; i < length && text[i] >= '0' && text[i] <= '9'; ++i) {
    const auto digit = static_cast<size_t>(text[i] - '0');
    if (number > (SIZE_MAX - digit) / 10) return SIZE_MAX;
    number = number * 10 + digit;
  }
  return i == 0 ? SIZE_MAX : number;
}

// The least limit of a group and of those that it lies in. `path` begins with a slash.
size_t least_upwards(const char* mount, const char* folder, const char* path, size_t length, const char* name) {
  size_t least = SIZE_MAX;
  for (int groups = kMostGroups; groups != 0; --groups) {
    while (length != 0 && path[length - 1] == '/') --length;
    Text<kMostPath> file;
    file.add(mount).add(folder).add(path, length).put('/').add(name);
    least = min(least, number_in(file.data()));
    if (length == 0) break;
    while (length != 0 && path[length - 1] != '/') --length;
  }
  return least;
}

// True if the list, of words separated by commas, has the word.
bool lists(const char* list, const char* end, const char* word) {
  const size_t length = strlen(word);
  while (list < end) {
    const char* const comma = find_value(list, end, ',');
    if (static_cast<size_t>(comma - list) == length && memcmp(list, word, length) == 0) return true;
    list = comma + (comma != end);
  }
  return false;
}

// The limit of the group on a line: number, controllers, path, separated by colons. Version 2 has no controllers there.
size_t limit_of(const char* line, const char* end, const char* mount) {
  const char* const controllers = find_value(line, end, ':');
  const char* const path = controllers == end ? end : find_value(controllers + 1, end, ':');
  if (path == end) return SIZE_MAX;
  const auto length = static_cast<size_t>(end - path) - 1;
  if (path == controllers + 1) return least_upwards(mount, "", path + 1, length, "memory.max");
  if (!lists(controllers + 1, path, "memory")) return SIZE_MAX;
  return least_upwards(mount, "/memory", path + 1, length, "memory.limit_in_bytes");
}

}  // namespace

size_t group_limit(const char* groups, const char* mount) {
  size_t least = SIZE_MAX;
  char text[kMostPath];
  size_t held = 0;
  bool is_empty = true;
  InputFile file(groups);
  while (const size_t got = file.read(text + held, sizeof text - held)) {
    is_empty = false;
    held += got;
    const char* line = text;
    const char* const held_end = text + held;
    for (const char* end; (end = find_value(line, held_end, '\n')) != held_end; line = end + 1)
      least = min(least, limit_of(line, end, mount));
    held -= static_cast<size_t>(line - text);
    memmove(text, line, held);
    if (held == sizeof text) held = 0;  // no file can have so long a path
  }
  if (!is_empty) return min(least, limit_of(text, text + held, mount));
  // The file is empty or missing: assumes the root group, as in a namespace of the process's own.
  for (const char* const line : FixedArray{"0::/", "0:memory:/"})
    least = min(least, limit_of(line, line + strlen(line), mount));
  return least;
}

// Not /proc/self, which names no thread once the main thread has ended.
size_t memory_limit() { return group_limit("/proc/thread-self/cgroup", "/sys/fs/cgroup"); }

}  // namespace snug::os
