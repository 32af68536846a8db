// The report with which a checked process ends: the call that was wrong, its address, and the block concerned.
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "checked/block_note.h"
#include "checked/call_stack.h"

namespace snug {

// What is known of the block.
struct ReportedBlock {
  const void* start = nullptr;
  size_t usable = 0;                // bytes: its class, or what a large block may use
  const BlockNote* note = nullptr;  // null: it was written over, or there was none
  // Call stacks, with check:stacks; of thread 0 if the event has not happened, or was written over.
  CallStack allocated = {};
  CallStack freed = {};
  bool has_stacks = false;
  const char* heap = nullptr;  // the name of the program's own heap that it lies in, perhaps ""; null: it lies in none
  bool is_heap_ended = false;  // that heap was destroyed
};

// "snug: CALL(0xADDRESS): REASON; block 0xSTART of SIZE bytes by ORIGIN, class of ROOM, in heap "NAME" that was
// destroyed". With stacks the lines of CallStack::write() follow. Never returns, allocates nothing.
[[noreturn]] SNUG_COLD void die_of_block(const char* call, const void* address, const char* reason,
                                         const ReportedBlock& block);
// The same with "REASON NUMBER".
[[noreturn]] SNUG_COLD void die_of_block(const char* call, const void* address, const char* reason, size_t number,
                                         const ReportedBlock& block);

// The name of the function that allocates a block of the origin; and of the one that frees it.
inline const char* allocation_of(BlockOrigin origin) {
  static constexpr const char* kNames[] = {"malloc", "new", "new[]"};
  return kNames[static_cast<size_t>(origin)];
}
inline const char* release_of(BlockOrigin origin) {
  static constexpr const char* kNames[] = {"free", "delete", "delete[]"};
  return kNames[static_cast<size_t>(origin)];
}

}  // namespace snug
