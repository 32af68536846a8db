// The lines of a file, through a short buffer.
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/algorithm.h"
#include "os/input_file.h"

namespace snug::os {

// Calls visit(first byte, end) for each line, without its newline; the last may have none. A line that does not fit
// into the buffer is left out. False if the file is empty or cannot be read: `*error`,
// if given, becomes the errno number then, or 0.
template <class Visit>
bool for_each_line(const char* path, Visit visit, int* error = nullptr) {
  char text[1024];
  size_t held = 0;
  bool has_any = false;
  bool is_long = false;  // the line that is being read
  InputFile file(path);
  while (const size_t got = file.read(text + held, sizeof text - held)) {
    has_any = true;
    held += got;
    const char* line = text;
    const char* const held_end = text + held;
    for (const char* end; (end = find_value(line, held_end, '\n')) != held_end; line = end + 1) {
      if (!is_long) visit(line, end);
      is_long = false;
    }
    held -= static_cast<size_t>(line - text);
    memmove(text, line, held);
    if (held == sizeof text) is_long = true;
    if (is_long) held = 0;
  }
  if (held != 0 && !is_long) visit(static_cast<const char*>(text), static_cast<const char*>(text) + held);
  if (error != nullptr) *error = file.error();
  return has_any;
}

}  // namespace snug::os
