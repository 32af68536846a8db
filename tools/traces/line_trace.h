// The line format that `snug classes fit` reads (classes/allocation_trace.h), to be imported.
#pragma once

#include "text/numbered_lines.h"
#include "traces/imported_blocks.h"

namespace snug::tool {

// Throws UserError at a line that is no event, or one that cannot be.
void read_line_trace(NumberedLines& lines, ImportedBlocks& blocks);

}  // namespace snug::tool
