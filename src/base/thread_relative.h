// Access to a thread-local object relative to the thread pointer. On x86-64 one instruction can address the fs segment
// with an index, but compilers first compute the object's address: two or three instructions more on each call of
// malloc and free (docs/decisions/0002). So a Relative<T> is an offset from the thread pointer in the shape of a T*: it
// is never dereferenced, only handed to the functions below. Elsewhere, and under sanitizers, it is the address itself,
// and the accesses are atomic because the statistics read them from other threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/compiler.h"

namespace snug {

#if defined(__x86_64__)
inline constexpr bool kThreadRelative = !kSanitized;
// Sets `offset` (a char*) to the thread-local object whose assembler name is the string `name`.
#define SNUG_THREAD_OFFSET(name, offset) __asm__("movq " name "@gottpoff(%%rip), %0" : "=r"(offset))
#else
inline constexpr bool kThreadRelative = false;
#define SNUG_THREAD_OFFSET(name, offset) static_cast<void>(offset)
#endif

template <class T>
SNUG_ALWAYS_INLINE T load_relative(T* word) {
  static_assert(sizeof(T) == 8);
#if defined(__x86_64__)
  if constexpr (kThreadRelative) {
    T value;
    __asm__ volatile("movq %%fs:%1, %0" : "=r"(value) : "m"(*word));
    return value;
  }
#endif
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// True if the word holds the lower half of the pointer.
template <class T>
SNUG_ALWAYS_INLINE bool equals_lower_half_relative(uint32_t* word, T* pointer) {
#if defined(__x86_64__)
  if constexpr (kThreadRelative) {
    bool equal;
    __asm__ volatile("cmpl %%fs:%1, %k2" : "=@cce"(equal) : "m"(*word), "r"(pointer));
    return equal;
  }
#endif
  return __atomic_load_n(word, __ATOMIC_RELAXED) == static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer));
}

// Adds Amount to the eight-byte word, in units of bytes for a pointer.
template <int Amount, class T>
SNUG_ALWAYS_INLINE void add_relative(T* word) {
  static_assert(sizeof(T) == 8);
#if defined(__x86_64__)
  if constexpr (kThreadRelative) {
    if constexpr (Amount == 1)
      __asm__ volatile("incq %%fs:%0" : "+m"(*word));
    else
      __asm__ volatile("addq %1, %%fs:%0" : "+m"(*word) : "i"(Amount));
    return;
  }
#endif
  auto* number = reinterpret_cast<uint64_t*>(word);
  const uint64_t sum = __atomic_load_n(number, __ATOMIC_RELAXED) + static_cast<uint64_t>(int64_t{Amount});
  __atomic_store_n(number, sum, __ATOMIC_RELAXED);
}

// The same words by address, from slow paths and from other threads; neither sees half of one.
template <class T>
T load_shared(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <class T>
void store_shared(T& word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace snug
