#include "checked/block_report.h"

#include <stdlib.h>

#include "base/bits.h"
#include "base/fatal.h"
#include "base/text.h"

namespace snug {
namespace {

using MistakeLine = Text<384>;

void add_heap(MistakeLine& line, const ReportedBlock& block) {
  if (block.heap == nullptr) return;
  if (block.heap[0] == 0) {
    line.add(", in a heap");
  } else {
    line.add(", in heap \"");
    for (const char* c = block.heap; *c != 0; ++c) line.put(*c >= ' ' && *c <= '~' ? *c : '?');
    line.add("\"");
  }
  if (block.is_heap_ended) line.add(" that was destroyed");
}

[[noreturn]] SNUG_NOINLINE void end(MistakeLine& line, const ReportedBlock& block) {
  line.add("; block ").add_hex(address_of(block.start));
  if (block.note != nullptr)
    line.add(" of ").add(uint64_t{block.note->size}).add(" bytes by ").add(allocation_of(block.note->origin));
  line.add(", class of ").add(uint64_t{block.usable});
  add_heap(line, block);
  line.add("\n");
  write_line(line.data(), line.size());
  if (block.has_stacks) {
    block.allocated.write("allocated by");
    block.freed.write("freed by");
    CallStack here;
    here.take(SNUG_FRAME_ADDRESS());
    here.write("this call by");
  }
  abort();
}

MistakeLine begin(const char* call, const void* address, const char* reason) {
  MistakeLine line;
  line.add("snug: ").add(call).add("(").add_hex(address_of(address)).add("): ").add(reason);
  return line;
}

}  // namespace

void die_of_block(const char* call, const void* address, const char* reason, const ReportedBlock& block) {
  MistakeLine line = begin(call, address, reason);
  end(line, block);
}

void die_of_block(const char* call, const void* address, const char* reason, size_t number,
                  const ReportedBlock& block) {
  MistakeLine line = begin(call, address, reason);
  line.add(" ").add(uint64_t{number});
  end(line, block);
}

}  // namespace snug
