// How the compacting heap's headers report a misuse that the library cannot see.
#pragma once

#include "snug/base/cpp20.h"
#include "snug/base/last_line.h"

namespace snug {

// "snug: CompactHeap::CALL(0xADDRESS): REASON", then abort().
[[noreturn, gnu::cold, gnu::noinline]] inline void die_of_compact_misuse(const char* call, const void* heap,
                                                                         const char* reason) {
  LastLine().add("snug: CompactHeap::").add(call).add("(").add_address(heap).add("): ").add(reason).end_process();
}

}  // namespace snug
