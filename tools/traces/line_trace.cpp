#include "traces/line_trace.h"

#include "classes/allocation_trace.h"

namespace snug::tool {

void read_line_trace(NumberedLines& lines, ImportedBlocks& blocks) {
  AllocationTrace trace(lines);
  while (const std::optional<TraceEvent> event = trace.next()) {
    if (event->kind == TraceEvent::Kind::kAllocate) blocks.allocate(event->key, event->bytes);
    if (event->kind == TraceEvent::Kind::kFree) blocks.free(event->freed_key);
    if (event->kind == TraceEvent::Kind::kReallocate) blocks.reallocate(event->freed_key, event->key, event->bytes);
  }
}

}  // namespace snug::tool
