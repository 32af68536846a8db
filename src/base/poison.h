// Tells AddressSanitizer, where it is active, which memory nobody may touch for now; elsewhere it does nothing. Both
// ends are multiples of eight bytes.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SNUG_HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SNUG_HAS_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(SNUG_HAS_ADDRESS_SANITIZER)
#undef SNUG_HAS_ADDRESS_SANITIZER
extern "C" void __asan_poison_memory_region(const volatile void* start, size_t bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* start, size_t bytes);

namespace snug {
inline void poison(const void* start, size_t bytes) { __asan_poison_memory_region(start, bytes); }
inline void unpoison(const void* start, size_t bytes) { __asan_unpoison_memory_region(start, bytes); }
}  // namespace snug
#else
namespace snug {
inline void poison(const void*, size_t) {}
inline void unpoison(const void*, size_t) {}
}  // namespace snug
#endif
