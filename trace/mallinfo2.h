// Mallinfo2: what the function mallinfo2 returns, in its layout, field by field as kMallinfoNames has them. glibc's
// header has the structure since 2.33 and musl's never, but an allocator may have the function on any of them.
#pragma once

#include <cstddef>

#include "trace/operation.h"

namespace snug::trace {

struct Mallinfo2 {
  std::size_t fields[kMallinfoFields];
};

}  // namespace snug::trace
