// The compiler's dialect, gathered in one place: what GCC 12 and Clang 19 offer beyond the language.
#pragma once

#define SNUG_ALWAYS_INLINE inline __attribute__((always_inline))
#define SNUG_NOINLINE __attribute__((noinline))
#define SNUG_COLD __attribute__((cold, noinline))
#define SNUG_EXPORT __attribute__((visibility("default")))
// Of what another library defines, if any does. It says so that it is not hidden, as all that is not marked is in the
// library as one file: the linker would take a hidden one for missing.
#define SNUG_WEAK_IMPORT __attribute__((weak, visibility("default")))
// Of what a program may define itself.
#define SNUG_WEAK_EXPORT __attribute__((weak, visibility("default")))
// Of what another file of the library defines, if that is linked too: null elsewhere.
#define SNUG_WEAK_OWN __attribute__((weak, visibility("hidden")))
// For declarations of variables: without it the compiler reaches them through the global offset table.
#define SNUG_HIDDEN __attribute__((visibility("hidden")))
#define SNUG_USED __attribute__((used))
// For thread-local variables: the dynamic linker places them when the process starts, and no access calls a function,
// however the file is compiled.
#define SNUG_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
// Gives a variable or function the assembler name `name`.
#define SNUG_ASM_NAME(name) __asm__(name)
// Makes this file's references to the symbol weak, the compiler's own ones included.
#define SNUG_WEAK_REFERENCE(symbol) __asm__(".weak " symbol)
// A hidden name of a function that this file defines by a weak symbol. The attribute for it wants every other
// attribute of the function again, and the compiler gives operator new some by itself.
#define SNUG_OWN_NAME(name, symbol) __asm__(".hidden " name "\n.globl " name "\n.set " name ", " symbol)
// ThreadSanitizer does not watch this function's accesses.
#define SNUG_UNWATCHED __attribute__((noinline, no_sanitize("thread")))
// The function may read what AddressSanitizer takes for freed.
#define SNUG_READS_FREED __attribute__((no_sanitize_address))
// For a type of which objects lie where the program has kept others: the compiler assumes nothing of what they are.
#define SNUG_MAY_ALIAS __attribute__((may_alias))
// The address of this function's frame, where the caller's frame pointer lies, with the return address behind it. Gives
// the function a frame pointer.
#define SNUG_FRAME_ADDRESS() __builtin_frame_address(0)
// Gives the function a frame pointer where the address is not needed.
#define SNUG_KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))
// Runs before main, ahead of the constructors of programs that link us; and after the program's own destructors.
#define SNUG_AT_LOAD __attribute__((constructor(101)))
#define SNUG_AT_EXIT __attribute__((destructor(101)))

// 1 where that sanitizer is active: GCC defines a macro, Clang has a feature.
#if defined(__has_feature)
#define SNUG_HAS_FEATURE(name) __has_feature(name)
#else
#define SNUG_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || SNUG_HAS_FEATURE(thread_sanitizer)
#define SNUG_HAS_THREAD_SANITIZER 1
#else
#define SNUG_HAS_THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SNUG_HAS_FEATURE(address_sanitizer)
#define SNUG_HAS_ADDRESS_SANITIZER 1
#else
#define SNUG_HAS_ADDRESS_SANITIZER 0
#endif

namespace snug {

#ifdef __SANITIZE_THREAD__
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

// Fetches the line at `address` for writing. A hint: never faults.
SNUG_ALWAYS_INLINE void prefetch_for_write(const void* address) { __builtin_prefetch(address, 1, 3); }

SNUG_ALWAYS_INLINE bool multiply_overflows(unsigned long a, unsigned long b, unsigned long* product) {
  return __builtin_mul_overflow(a, b, product);
}

SNUG_ALWAYS_INLINE bool add_overflows(unsigned long a, unsigned long b, unsigned long* sum) {
  return __builtin_add_overflow(a, b, sum);
}

// The same value, but the compiler does not know that: it computes addresses from it anew and folds that into each
// access, where it would otherwise keep them in a register.
SNUG_ALWAYS_INLINE unsigned long opaque(unsigned long value) {
  __asm__("" : "+r"(value));
  return value;
}

SNUG_ALWAYS_INLINE void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// True where threads see each other's plain stores in the order in which they were made, if they load in an order too.
#if defined(__x86_64__)
inline constexpr bool kOrdersPlainAccesses = true;
#else
inline constexpr bool kOrdersPlainAccesses = false;
#endif

// True where a sanitizer watches memory accesses: then racy-by-design reads must be visibly atomic.
inline constexpr bool kSanitized = SNUG_HAS_THREAD_SANITIZER || SNUG_HAS_ADDRESS_SANITIZER;

}  // namespace snug
