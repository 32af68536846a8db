// Ends a process that has misused its heap, or of which the heap is broken: one line on standard error, then abort().
#pragma once

#include <stddef.h>

#include "base/compiler.h"

namespace snug {

// "snug: CALL(0xBLOCK): REASON". Never returns, allocates nothing.
[[noreturn]] SNUG_COLD void die_of_misuse(const char* call, const void* block, const char* reason);
// Writes the same line with a remark behind it, and returns.
SNUG_COLD void tell_misuse(const char* call, const void* block, const char* reason, const char* remark);
// Reasons that are used in several places.
inline constexpr const char* kForeign = "not a block of this heap";
inline constexpr const char* kInterior = "points inside a block";
inline constexpr const char* kNeverHandedOut = "block was never handed out";
inline constexpr const char* kShorter = "block is shorter than its old size is said to be";
inline constexpr const char* kAlreadyFree = "block is already free";

// "snug: bug: REASON (FILE:LINE)".
[[noreturn]] SNUG_COLD void die_of_bug(const char* reason, const char* file, int line);

// Writes one line to standard error, whole.
void write_line(const char* bytes, size_t count);

}  // namespace snug

// What must hold if snug is right; costs nothing in release builds. `reason` says why it holds.
#ifdef NDEBUG
#define SNUG_ASSERT(condition, reason) static_cast<void>(0)
#else
#define SNUG_ASSERT(condition, reason) \
  static_cast<void>((condition) ? 0 : (::snug::die_of_bug(reason, __FILE__, __LINE__), 0))
#endif
