// What the library tells the memory checkers of the program that it is linked into (snug/base/poison.h):
// AddressSanitizer, if the program was compiled with it, even where the library was not; and valgrind's memcheck. Both
// ends of each range are multiples of eight bytes.
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "snug/base/poison.h"

extern "C" {
SNUG_WEAK_IMPORT void __asan_poison_memory_region(const volatile void* start, size_t bytes);
SNUG_WEAK_IMPORT void __asan_unpoison_memory_region(const volatile void* start, size_t bytes);
}

namespace snug {

// True if look_for_checkers() has found a checker. Written before any memory that is reported is handed out.
inline bool seen_checker = false;
inline void look_for_checkers() {
  look_for_memcheck();
  if (__asan_poison_memory_region != nullptr || on_memcheck()) __atomic_store_n(&seen_checker, true, __ATOMIC_RELAXED);
}
inline bool is_checked() { return __atomic_load_n(&seen_checker, __ATOMIC_RELAXED); }

SNUG_COLD inline void tell_checkers(ValgrindRequest request, const void* start, size_t bytes) {
  if (__asan_poison_memory_region != nullptr)
    (request == kMakeInaccessible ? __asan_poison_memory_region : __asan_unpoison_memory_region)(start, bytes);
  if (on_memcheck()) ask_valgrind(request, reinterpret_cast<uintptr_t>(start), bytes);
}

// From now on the program must not touch the bytes.
inline void poison(const void* start, size_t bytes) {
  if (is_checked()) [[unlikely]]
    tell_checkers(kMakeInaccessible, start, bytes);
}
// The program may write the bytes again; they count as uninitialised.
inline void unpoison(const void* start, size_t bytes) {
  if (is_checked()) [[unlikely]]
    tell_checkers(kMakeUndefined, start, bytes);
}
// The program may read and write the bytes again; their contents count as initialised.
inline void permit(const void* start, size_t bytes) {
  if (is_checked()) [[unlikely]]
    tell_checkers(kMakeDefined, start, bytes);
}

}  // namespace snug
