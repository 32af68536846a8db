// The line format that `snug classes fit` reads and `snug trace export` writes (input/allocation_trace.h), as a trace.
#pragma once

#include <memory>
#include <string>

#include "input/imported_blocks.h"
#include "text/numbered_lines.h"
#include "trace/source.h"

namespace snug::tool {

// What a trace of lines says nothing of; "; " between.
inline constexpr const char* kLinesLack =
    "threads; time (an event is 64 ns behind the one before); operations but malloc, free, realloc; alignments";

// Throws UserError at a line that is no event, or one that cannot be.
void read_line_trace(NumberedLines& lines, ImportedBlocks& blocks);

// Whether the first line that is no comment is an event, as far as the file's first bytes tell.
bool begins_with_lines(trace::Source& source);
// The file's lines as a trace, in a file that has no name. Throws UserError.
std::unique_ptr<trace::Source> trace_of_lines(const std::string& path);

}  // namespace snug::tool
