// What heaptrack writes (.zst, .gz; version 1 to 3), to be imported. Numbers are hexadecimal. Of its lines these count:
//
//   v version-of-heaptrack version-of-the-file      the first
//   a bytes stack      the next kind of allocation, counted from 0: a size, from a stack
//   + kind             a block of that kind comes
//   - kind             one goes, which is not said
//   + bytes stack address, - address      the same in raw files (heaptrack -r), which say which block goes
//   c milliseconds     time since the beginning
//   R pages            the resident set
#pragma once

#include "input/imported_blocks.h"
#include "text/numbered_lines.h"

namespace snug::tool {

// Throws UserError at a line that cannot be.
void read_heaptrack_file(NumberedLines& lines, ImportedBlocks& blocks);

}  // namespace snug::tool
