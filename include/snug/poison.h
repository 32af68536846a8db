// poison.h: what snug's heaps tell AddressSanitizer and valgrind's memcheck, which see memory that a heap has, and not
// what of it is whose: which bytes nobody may touch for now.
//
//   AddressSanitizer   in code that is compiled with it. What reads poisoned bytes all the same, since a heap keeps its
//                      links there, is [[gnu::no_sanitize_address]], and calls no memset or memcpy on them
//   memcheck           where the program runs under it and the caller has looked (look_for_memcheck). Asked in so many
//                      instructions that do nothing elsewhere, which are part of valgrind's interface: its headers are
//                      not needed, and a program is the same wherever it was compiled. x86-64 and AArch64
//
// Bytes begin at a multiple of eight. Thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#if defined(__SANITIZE_ADDRESS__)
#define SNUG_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SNUG_POISONS 1
#endif
#endif

#if defined(SNUG_POISONS)
extern "C" void __asan_poison_memory_region(const volatile void* start, size_t bytes);
extern "C" void __asan_unpoison_memory_region(const volatile void* start, size_t bytes);
extern "C" void* __asan_region_is_poisoned(void* start, size_t bytes);
#endif

namespace snug {

// ---- AddressSanitizer

#if defined(SNUG_POISONS)
inline constexpr bool kPoisonsForSanitizer = true;
inline void poison_for_sanitizer(const void* start, size_t bytes) { __asan_poison_memory_region(start, bytes); }
inline void unpoison_for_sanitizer(const void* start, size_t bytes) { __asan_unpoison_memory_region(start, bytes); }
inline bool has_poison(const void* start, size_t bytes) {
  return __asan_region_is_poisoned(const_cast<void*>(start), bytes) != nullptr;
}
#else
inline constexpr bool kPoisonsForSanitizer = false;
inline bool has_poison(const void*, size_t) { return false; }
inline void poison_for_sanitizer(const void*, size_t) {}
inline void unpoison_for_sanitizer(const void*, size_t) {}
#endif

// ---- memcheck

// Valgrind knows the instructions, which turn a register by 128 bits in all. Elsewhere the answer is 0.
[[gnu::noinline, gnu::cold]] inline uintptr_t ask_valgrind(uintptr_t request, uintptr_t first, uintptr_t second) {
  uintptr_t answer = 0;
#if defined(__x86_64__) && defined(__LP64__)
  const volatile uintptr_t words[6] = {request, first, second, 0, 0, 0};
  __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                   : "=d"(answer)
                   : "a"(words), "0"(answer)
                   : "cc", "memory");
#elif defined(__aarch64__) && defined(__LP64__)
  const volatile uintptr_t words[6] = {request, first, second, 0, 0, 0};
  __asm__ volatile(
      "mov x3, %1; mov x4, %2; ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61; "
      "orr x10, x10, x10; mov %0, x3"
      : "=r"(answer)
      : "r"(answer), "r"(words)
      : "cc", "memory", "x3", "x4");
#else
  static_cast<void>(request), static_cast<void>(first), static_cast<void>(second);
#endif
  return answer;
}

enum ValgrindRequest : uintptr_t {
  kDisableErrors = 0x1801,
  kMakeInaccessible = 0x4d430000,  // 'M' 'C', and a number
  kMakeUndefined = 0x4d430001,
  kMakeDefined = 0x4d430002,
};

// Whether somebody has looked, and the program runs on memcheck. Written before any memory is handed out that is told
// of. memcheck alone, of valgrind's tools, answers what is asked here, which changes no byte.
inline bool seen_memcheck = false;
inline void look_for_memcheck() {
  const uintptr_t here = reinterpret_cast<uintptr_t>(&seen_memcheck);
  if (ask_valgrind(kMakeDefined, here, 0) != 0) __atomic_store_n(&seen_memcheck, true, __ATOMIC_RELAXED);
}
inline bool on_memcheck() { return __atomic_load_n(&seen_memcheck, __ATOMIC_RELAXED); }

// Of what memcheck finds in this scope it says nothing: a heap follows links through memory that nobody may touch.
class MemcheckPause {
 public:
  MemcheckPause() : is_on_(on_memcheck()) {
    if (is_on_) [[unlikely]]
      ask_valgrind(kDisableErrors, 1, 0);
  }
  ~MemcheckPause() {
    if (is_on_) [[unlikely]]
      ask_valgrind(kDisableErrors, ~uintptr_t{0}, 0);
  }
  MemcheckPause(const MemcheckPause&) = delete;
  MemcheckPause& operator=(const MemcheckPause&) = delete;

 private:
  const bool is_on_;
};

// The same, and looks first, for operations that are slow anyhow.
class MemcheckLookAndPause {
 public:
  MemcheckLookAndPause() {}

 private:
  struct Look {
    Look() { look_for_memcheck(); }
  };
  Look look_;
  MemcheckPause pause_;
};

// ---- both

// `kTellsMemcheck` false: not an instruction, where the sanitizer is not active.
template <bool kTellsMemcheck>
struct Poison {
  static constexpr bool kTells = kTellsMemcheck;

  struct NoPause {
    NoPause() {}
    ~NoPause() {}
  };
  using Pause = std::conditional_t<kTellsMemcheck, MemcheckPause, NoPause>;
  using LookAndPause = std::conditional_t<kTellsMemcheck, MemcheckLookAndPause, NoPause>;

  // One look at memcheck for several words to it.
  class Listener {
   public:
    void forbid(const void* start, size_t bytes) const {
      poison_for_sanitizer(start, bytes);
      tell(kMakeInaccessible, start, bytes);
    }
    void hand_out(const void* start, size_t bytes) const {
      unpoison_for_sanitizer(start, bytes);
      tell(kMakeUndefined, start, bytes);
    }
    void permit(const void* start, size_t bytes) const {
      unpoison_for_sanitizer(start, bytes);
      tell(kMakeDefined, start, bytes);
    }

   private:
    void tell(ValgrindRequest request, const void* start, size_t bytes) const {
      if (hears_) [[unlikely]]
        ask_valgrind(request, reinterpret_cast<uintptr_t>(start), bytes);
    }
    const bool hears_ = kTellsMemcheck && on_memcheck();
  };

  // Nobody may touch the bytes.
  static void forbid(const void* start, size_t bytes) { Listener().forbid(start, bytes); }
  // Everybody may; what is in them is no value yet.
  static void hand_out(const void* start, size_t bytes) { Listener().hand_out(start, bytes); }
  // Everybody may; what is in them counts.
  static void permit(const void* start, size_t bytes) { Listener().permit(start, bytes); }
};

}  // namespace snug

#undef SNUG_POISONS
