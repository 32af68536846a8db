// What the compacting heap's headers say of a misuse that the library does not see.
#pragma once

#include "snug/cpp20.h"

#include <cstdio>
#include <cstdlib>

namespace snug {

// "snug: CompactHeap::CALL(0xADDRESS): REASON", then abort().
[[noreturn, gnu::cold, gnu::noinline]] inline void die_of_compact_misuse(const char* call, const void* heap,
                                                                         const char* reason) {
  std::fprintf(stderr, "snug: CompactHeap::%s(%p): %s\n", call, heap, reason);
  std::abort();
}

}  // namespace snug
