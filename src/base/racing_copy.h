// Copies bytes that another thread may be writing; the caller throws the copy away if it was. In that case it is any
// mixture of old and new bytes, which the caller does not read.
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

namespace snug {

// ThreadSanitizer cannot know that the copy is thrown away.
#if SNUG_HAS_THREAD_SANITIZER
SNUG_UNWATCHED inline void racing_copy(void* to, const void* from, size_t bytes) {
  auto* const target = static_cast<volatile char*>(to);
  const auto* const source = static_cast<const volatile char*>(from);
  for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
}
#else
inline void racing_copy(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }
#endif

}  // namespace snug
