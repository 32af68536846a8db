// The log of glibc's mtrace, to be imported. A line is one event:
//
//   @ place + address bytes     a block comes
//   @ place - address           it goes
//   @ place < address           it goes in a realloc; the other half is the next line
//   @ place > address bytes     … where it comes again
//   @ place ! address bytes     a realloc was refused
//
// Other lines (= Start, = End, and what else the program may have written there) say nothing of blocks. The place has
// no spaces where it was made by glibc.
#pragma once

#include "input/imported_blocks.h"
#include "text/numbered_lines.h"

namespace snug::tool {

// Throws UserError at a line that is no event, or if no line is one of such a log.
void read_mtrace_log(NumberedLines& lines, ImportedBlocks& blocks);

}  // namespace snug::tool
