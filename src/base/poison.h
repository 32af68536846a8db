// Tells AddressSanitizer, where it is active, which memory nobody may touch for now; elsewhere it does nothing. Both
// ends are multiples of eight bytes.
#pragma once

#include <cstddef>

#include "base/compiler.h"

#if SNUG_HAS_ADDRESS_SANITIZER
extern "C" void __asan_poison_memory_region(const volatile void* start, size_t bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* start, size_t bytes);

namespace snug {
inline constexpr bool kPoisons = true;
inline void poison(const void* start, size_t bytes) { __asan_poison_memory_region(start, bytes); }
inline void unpoison(const void* start, size_t bytes) { __asan_unpoison_memory_region(start, bytes); }
}  // namespace snug
#else
namespace snug {
inline constexpr bool kPoisons = false;
inline void poison(const void*, size_t) {}
inline void unpoison(const void*, size_t) {}
}  // namespace snug
#endif
