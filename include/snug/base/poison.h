// poison.h: what snug's heaps tell AddressSanitizer and valgrind's memcheck: which bytes of a heap's memory the program
// must not touch for now.
//
//   AddressSanitizer   in code that is compiled with it. A function that reads poisoned bytes all the same, where a
//                      heap keeps its links, is [[gnu::no_sanitize_address]], and calls no memset or memcpy on them
//   memcheck           if the program runs under it and the caller has called look_for_memcheck(). Told by a sequence
//                      of instructions without effect elsewhere, part of valgrind's interface: its headers are not
//                      needed, and a program is the same wherever it was compiled. x86-64 and AArch64
//
// Bytes begin at a multiple of eight. Thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

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

// Valgrind recognises the instructions, which rotate a register by 128 bits in all. Elsewhere the answer is 0.
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

// True if look_for_memcheck() has found memcheck. Written before any memory that is reported is handed out. Of
// valgrind's tools only memcheck answers the request made here, which changes no byte.
inline bool seen_memcheck = false;
inline void look_for_memcheck() {
  const uintptr_t here = reinterpret_cast<uintptr_t>(&seen_memcheck);
  if (ask_valgrind(kMakeDefined, here, 0) != 0) __atomic_store_n(&seen_memcheck, true, __ATOMIC_RELAXED);
}
inline bool on_memcheck() { return __atomic_load_n(&seen_memcheck, __ATOMIC_RELAXED); }

// In this scope memcheck reports no errors, since the heap follows links through memory that is poisoned.
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

// The same after look_for_memcheck(), for operations that are slow anyhow.
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

// With `kTellsMemcheck` false it costs no instruction, unless the sanitizer is active.
template <bool kTellsMemcheck>
struct Poison {
  static constexpr bool kTells = kTellsMemcheck;

  struct NoPause {
    NoPause() {}
    ~NoPause() {}
  };
  template <bool kHears, class Teller>
  struct TellerOrNone {
    using Type = Teller;
  };
  template <class Teller>
  struct TellerOrNone<false, Teller> {
    using Type = NoPause;
  };
  using Pause = typename TellerOrNone<kTellsMemcheck, MemcheckPause>::Type;
  using LookAndPause = typename TellerOrNone<kTellsMemcheck, MemcheckLookAndPause>::Type;

  // Tests once whether memcheck is there, for several calls.
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

  // From now on the program must not touch the bytes.
  static void forbid(const void* start, size_t bytes) { Listener().forbid(start, bytes); }
  // The program may write the bytes; they count as uninitialised.
  static void hand_out(const void* start, size_t bytes) { Listener().hand_out(start, bytes); }
  // The program may read and write the bytes; their contents count as initialised.
  static void permit(const void* start, size_t bytes) { Listener().permit(start, bytes); }
};

}  // namespace snug

#undef SNUG_POISONS
