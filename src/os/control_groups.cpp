#include "os/control_groups.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/fixed_array.h"
#include "base/text.h"
#include "os/input_file.h"
#include "os/lines.h"

namespace snug::os {
namespace {

// Buffers are short, as a thread's stack may be small.
constexpr size_t kMostPath = 1024;
constexpr int kMostGroups = 32;
using Path = Text<kMostPath>;

struct Visitor {
  void (*visit)(void* context, const MemoryGroup&);
  void* context;
};

// The group and those that it lies in. `path` begins with a slash.
void visit_upwards(const char* mount, GroupVersion version, const char* path, size_t length, const Visitor& visitor) {
  for (int groups = kMostGroups; groups != 0; --groups) {
    while (length != 0 && path[length - 1] == '/') --length;
    Path folder;
    folder.add(mount).add(version == GroupVersion::kOne ? "/memory" : "").add(path, length);
    visitor.visit(visitor.context, {version, folder.data()});
    if (length == 0) break;
    while (length != 0 && path[length - 1] != '/') --length;
  }
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

// The group on a line: number, controllers, path, separated by colons. Version 2 has no controllers there.
void visit_line(const char* mount, const char* line, const char* end, const Visitor& visitor) {
  const char* const controllers = find_value(line, end, ':');
  const char* const path = controllers == end ? end : find_value(controllers + 1, end, ':');
  if (path == end) return;
  const auto length = static_cast<size_t>(end - path) - 1;
  if (path == controllers + 1) return visit_upwards(mount, GroupVersion::kTwo, path + 1, length, visitor);
  if (lists(controllers + 1, path, "memory")) visit_upwards(mount, GroupVersion::kOne, path + 1, length, visitor);
}

// The number that the text begins with; SIZE_MAX if that is none, or too large.
size_t number_at(const char* text, const char* end) {
  size_t number = 0;
  const char* at = text;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) {
    const auto digit = static_cast<size_t>(*at - '0');
    if (number > (SIZE_MAX - digit) / 10) return SIZE_MAX;
    number = number * 10 + digit;
  }
  return at == text ? SIZE_MAX : number;
}

bool begins_with(const char* line, const char* end, const char* word) {
  const size_t length = strlen(word);
  return static_cast<size_t>(end - line) > length && memcmp(line, word, length) == 0 && line[length] == ' ';
}

// A file that does not exist says that there is nothing; every other error says nothing.
bool is_withheld(int error) { return error != 0 && error != ENOENT && error != ENAMETOOLONG; }

}  // namespace

void for_each_memory_group(const char* groups, const char* mount, void (*visit)(void* context, const MemoryGroup&),
                           void* context) {
  const Visitor visitor{visit, context};
  if (for_each_line(groups, [&](const char* line, const char* end) { visit_line(mount, line, end, visitor); })) return;
  for (const char* const line : FixedArray{"0::/", "0:memory:/"}) visit_line(mount, line, line + strlen(line), visitor);
}

size_t number_of_group(const MemoryGroup& group, const char* file, bool* is_known) {
  Path path;
  path.add(group.folder).put('/').add(file);
  char text[32];
  InputFile input(path.data());
  const size_t length = input.read(text, sizeof text);
  if (is_known != nullptr && is_withheld(input.error())) *is_known = false;
  return number_at(text, text + length);
}

void read_statistics(const MemoryGroup& group, const char* const* words, size_t* values, size_t count, bool* is_known) {
  Path path;
  path.add(group.folder).add("/memory.stat");
  for (size_t i = 0; i != count; ++i) values[i] = 0;
  const auto look = [&](const char* line, const char* end) {
    for (size_t i = 0; i != count; ++i) {
      if (!begins_with(line, end, words[i])) continue;
      const size_t number = number_at(line + strlen(words[i]) + 1, end);
      if (number != SIZE_MAX) values[i] = number;
    }
  };
  int error = 0;
  for_each_line(path.data(), look, &error);
  if (is_withheld(error)) *is_known = false;
}

}  // namespace snug::os
