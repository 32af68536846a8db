// Addresses of pages, where a processor has an instruction that makes one without reading memory: AArch64's adrp. Words
// that lie on one page of the library's are then reached by one instruction and loaded two at a time, instead of by an
// address and a load for each.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

namespace snug {

inline constexpr size_t kAddressedPage = 4096;  // of the instruction, whatever the OS's page

#if defined(__aarch64__)
inline constexpr bool kHasPageAddress = !kSanitized;
// Sets `address` (a char*) to the object with the assembler name `name`, a string, which lies at the start of a page.
#define SNUG_PAGE_ADDRESS(name, address) __asm__("adrp %0, " name : "=r"(address))
#else
inline constexpr bool kHasPageAddress = false;
#define SNUG_PAGE_ADDRESS(name, address) static_cast<void>(address)
#endif

// Loads two words of 8 bytes that no thread writes while others load them, `Offset` bytes behind the address. In what
// order they are read is not said.
template <size_t Offset, class First, class Second>
SNUG_ALWAYS_INLINE void load_settled_pair(const void* address, First& first, Second& second) {
  static_assert(sizeof(First) == 8 && sizeof(Second) == 8 && Offset % 8 == 0 && Offset < 512);
#if defined(__aarch64__)
  __asm__ volatile("ldp %0, %1, [%2, %3]" : "=r"(first), "=r"(second) : "r"(address), "n"(Offset));
#else
  static_cast<void>(address), static_cast<void>(first), static_cast<void>(second);
#endif
}

// The same for words that this thread writes.
SNUG_ALWAYS_INLINE void load_pair(const uint64_t (&pair)[2], uint64_t& first, uint64_t& second) {
#if defined(__aarch64__)
  __asm__ volatile("ldp %0, %1, %2" : "=&r"(first), "=&r"(second) : "Q"(pair));
#else
  first = pair[0];
  second = pair[1];
#endif
}

// The word that the ABI points at the thread, from which static thread-local storage lies at the same distance in all.
SNUG_ALWAYS_INLINE char* thread_pointer() {
#if defined(__aarch64__)
  return static_cast<char*>(__builtin_thread_pointer());
#else
  return nullptr;
#endif
}

}  // namespace snug
