// out_of_memory.h: what snug's C++ interfaces do without memory, where they must not return null.
#pragma once

#include "snug/base/cpp20.h"

#include <cstdlib>
#include <new>

namespace snug {

// Throws std::bad_alloc; where exceptions are off, ends the process.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_out_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

}  // namespace snug
