// A file that lines are appended to, without stdio. Leaves errno alone.
#pragma once

#include <stddef.h>

namespace snug::os {

// Null, or why the file `path` cannot be appended to now: a sentence without a full stop. Opens and creates nothing: a
// pipe's reader would take the close for the end of the file.
const char* append_fault(const char* path);

// Appends `count` bytes to the file `path` in one write, creating it. False if it cannot, as to a pipe without a
// reader, of which no signal tells.
bool append_to_file(const char* path, const char* bytes, size_t count);

}  // namespace snug::os
