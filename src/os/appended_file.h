// A file that lines are appended to, without stdio. Leaves errno alone.
#pragma once

#include <cstddef>

namespace snug::os {

// Null, or why nothing could be appended to the file `path` now: a sentence without a full stop. Opens and creates
// nothing, so that a pipe's reader does not take it for the end.
const char* append_fault(const char* path);

// Appends `count` bytes to the file `path` in one write, creating it. False if it cannot, as to a pipe without a
// reader.
bool append_to_file(const char* path, const char* bytes, size_t count);

}  // namespace snug::os
