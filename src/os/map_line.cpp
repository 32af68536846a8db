#include "os/map_line.h"

namespace snug::os {
namespace {

uint64_t take_hex(const char** text) {
  uint64_t number = 0;
  for (;; ++*text) {
    const char c = **text;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return number;
    number = number << 4 | static_cast<uint64_t>(digit);
  }
}

void skip_word(const char** text) {
  while (**text != 0 && **text != ' ') ++*text;
  while (**text == ' ') ++*text;
}

}  // namespace

MapLine parse_map_line(const char* line) {
  MapLine mapping;
  mapping.start = take_hex(&line);
  if (*line == '-') ++line;
  mapping.end = take_hex(&line);
  skip_word(&line);
  mapping.is_readable = line[0] == 'r';
  mapping.is_executable = line[0] != 0 && line[1] != 0 && line[2] == 'x';
  skip_word(&line);
  mapping.offset = take_hex(&line);
  for (int word = 0; word != 3; ++word) skip_word(&line);
  mapping.path = line;
  return mapping;
}

}  // namespace snug::os
