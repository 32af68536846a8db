// What the library tells memory checkers of a program's that it is linked into (snug/poison.h): AddressSanitizer, whose
// runtime is there if the program was compiled with it, and valgrind's memcheck. The library itself need not be. Both
// ends are multiples of eight bytes.
#pragma once

#include <cstddef>

#include "base/compiler.h"
#include "snug/poison.h"

extern "C" {
SNUG_WEAK void __asan_poison_memory_region(const volatile void* start, size_t bytes);
SNUG_WEAK void __asan_unpoison_memory_region(const volatile void* start, size_t bytes);
}

namespace snug {

// Whether somebody has looked, and there is a checker. Written before any memory is handed out that is told of.
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

// Nobody may touch the bytes for now.
inline void poison(const void* start, size_t bytes) {
  if (is_checked()) [[unlikely]]
    tell_checkers(kMakeInaccessible, start, bytes);
}
// Everybody may again; what is in them is no value yet.
inline void unpoison(const void* start, size_t bytes) {
  if (is_checked()) [[unlikely]]
    tell_checkers(kMakeUndefined, start, bytes);
}
// Everybody may again; what was in them counts.
inline void permit(const void* start, size_t bytes) {
  if (is_checked()) [[unlikely]]
    tell_checkers(kMakeDefined, start, bytes);
}

}  // namespace snug
