// Access to a thread-local object relative to the thread pointer. On x86-64 one instruction can address the fs segment
// with an index, but compilers first compute the object's address: two or three instructions more on each call of
// malloc and free (docs/decisions/0002). So a Relative<T> is an offset from the thread pointer in the shape of a T*: it
// is never dereferenced, only handed to the functions below. Elsewhere, and under sanitizers, it is the address itself,
// and the accesses are atomic because the statistics read them from other threads.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

namespace snug {

#if defined(__x86_64__)
inline constexpr bool kThreadRelative = !kSanitized;
// Sets `offset` (a char*) to the thread-local object with the assembler name `name`, a string.
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

// True if the word holds the lower half of the number.
SNUG_ALWAYS_INLINE bool equals_lower_half_relative(uint32_t* word, uint64_t number) {
#if defined(__x86_64__)
  if constexpr (kThreadRelative) {
    bool equal;
    __asm__ volatile("cmpl %%fs:%1, %k2" : "=@cce"(equal) : "m"(*word), "r"(number));
    return equal;
  }
#endif
  return __atomic_load_n(word, __ATOMIC_RELAXED) == static_cast<uint32_t>(number);
}

// True if the lower half of the number is at most what the word holds, both signed.
SNUG_ALWAYS_INLINE bool lower_half_is_at_most_relative(uint32_t* word, uint64_t number) {
#if defined(__x86_64__)
  if constexpr (kThreadRelative) {
    bool at_most;
    __asm__ volatile("cmpl %%fs:%1, %k2" : "=@ccle"(at_most) : "m"(*word), "r"(number));
    return at_most;
  }
#endif
  return static_cast<int32_t>(number) <= static_cast<int32_t>(__atomic_load_n(word, __ATOMIC_RELAXED));
}

// Adds Amount, 1 or -1, to the word.
template <int Amount>
SNUG_ALWAYS_INLINE void add_relative(uint64_t* word) {
  static_assert(Amount == 1 || Amount == -1);
#if defined(__x86_64__)
  if constexpr (kThreadRelative) {
    if constexpr (Amount == 1)
      __asm__ volatile("incq %%fs:%0" : "+m"(*word) : : "cc");
    else
      __asm__ volatile("decq %%fs:%0" : "+m"(*word) : : "cc");
    return;
  }
#endif
  const uint64_t sum = __atomic_load_n(word, __ATOMIC_RELAXED) + static_cast<uint64_t>(int64_t{Amount});
  __atomic_store_n(word, sum, __ATOMIC_RELAXED);
}

// The same for a word in which the thread has last read or written `before`. A thread that reads the sum by
// load_acquired() sees what this thread wrote before.
template <int Amount>
SNUG_ALWAYS_INLINE void publish_relative(uint64_t* word, uint64_t before) {
  if constexpr (kThreadRelative)
    add_relative<Amount>(word);
  else
    __atomic_store_n(word, before + static_cast<uint64_t>(int64_t{Amount}), __ATOMIC_RELEASE);
}

// Adds 1 to the word unless the pointer is null; on x86-64 without a branch.
SNUG_ALWAYS_INLINE void add_one_unless_null_relative(uint64_t* word, uint64_t before, const void* pointer) {
#if defined(__x86_64__)
  if constexpr (kThreadRelative) {
    // Null borrows, and word - -1 - borrow is the word.
    __asm__ volatile("cmpq $1, %1\n\tsbbq $-1, %%fs:%0" : "+m"(*word) : "r"(pointer) : "cc");
    return;
  }
#endif
  if (pointer != nullptr) publish_relative<1>(word, before);
}

// The same value, where the compiler should compute an address from it anew: an access to the fs segment takes the
// whole computation. Elsewhere it had better keep the address.
SNUG_ALWAYS_INLINE unsigned long index_anew(unsigned long value) { return kThreadRelative ? opaque(value) : value; }

// Access to the same words by address, from slow paths and from other threads; no access sees half of a word.
template <class T>
T load_shared(const T& word) {
  T value;
  __atomic_load(&word, &value, __ATOMIC_RELAXED);  // of enumerations too, where Clang has no __atomic_load_n
  return value;
}
// The caller sees what the thread wrote before it changed the word by add_relative().
template <class T>
T load_acquired(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <class T>
void store_shared(T& word, T value) {
  __atomic_store(&word, &value, __ATOMIC_RELAXED);
}

}  // namespace snug
