#include "os/memory_limit.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/text.h"
#include "os/input_file.h"

namespace snug::os {
namespace {

constexpr size_t kMostText = 4096;
constexpr int kMostGroups = 32;

// What a file of one number says; SIZE_MAX if it says a word, "max" for instance, or is not there.
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

// The least of what a group and those that it lies in say. `path` begins with a slash.
size_t least_upwards(const char* mount, const char* folder, const char* path, size_t length, const char* name) {
  size_t least = SIZE_MAX;
  for (int groups = kMostGroups; groups != 0; --groups) {
    while (length != 0 && path[length - 1] == '/') --length;
    Text<kMostText> file;
    file.add(mount).add(folder).add(path, length).put('/').add(name);
    least = std::min(least, number_in(file.data()));
    if (length == 0) break;
    while (length != 0 && path[length - 1] != '/') --length;
  }
  return least;
}

// True if the list, whose words are parted by commas, has the word.
bool lists(const char* list, const char* end, const char* word) {
  const size_t length = std::strlen(word);
  while (list < end) {
    const char* const comma = std::find(list, end, ',');
    if (static_cast<size_t>(comma - list) == length && std::memcmp(list, word, length) == 0) return true;
    list = comma + (comma != end);
  }
  return false;
}

}  // namespace

size_t group_limit(const char* groups, const char* mount) {
  size_t least = SIZE_MAX;
  // A line for each hierarchy: number, controllers, path, parted by colons. Version 2 has no controllers there.
  const char* const end = groups + std::strlen(groups);
  for (const char* line = groups; line < end;) {
    const char* const line_end = std::find(line, end, '\n');
    const char* const controllers = std::find(line, line_end, ':');
    const char* const path = controllers == line_end ? line_end : std::find(controllers + 1, line_end, ':');
    if (path != line_end) {
      const auto length = static_cast<size_t>(line_end - path) - 1;
      if (path == controllers + 1)
        least = std::min(least, least_upwards(mount, "", path + 1, length, "memory.max"));
      else if (lists(controllers + 1, path, "memory"))
        least = std::min(least, least_upwards(mount, "/memory", path + 1, length, "memory.limit_in_bytes"));
    }
    line = line_end + (line_end != end);
  }
  return least;
}

size_t memory_limit() {
  char groups[kMostText];
  size_t length = 0;
  // Not of `self`, which is nobody once the main thread has left.
  InputFile file("/proc/thread-self/cgroup");
  while (const size_t got = file.read(groups + length, sizeof groups - 1 - length)) length += got;
  groups[length] = 0;
  return group_limit(groups, "/sys/fs/cgroup");
}

}  // namespace snug::os
