// AbortWithLine: what a cell heap does about misuse on an OS: one line on standard error, then abort(). Allocates
// nothing, and is no cancellation point.
//
//   snug: CellHeap::deallocate(0x7f0012345678): block is already free
#pragma once

#include "snug/base/last_line.h"

namespace snug {

struct AbortWithLine {
  [[noreturn, gnu::cold, gnu::noinline]] static void misuse(const char* call, const void* block,
                                                            const char* reason) noexcept {
    LastLine().add("snug: ").add(call).add("(").add_address(block).add("): ").add(reason).end_process();
  }
};

}  // namespace snug
