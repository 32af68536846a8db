// What snug asks of the OS about the process.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/libc_features.h"

// Not by <sys/single_threaded.h>: a compiler for another libc, or an older glibc, may find it all the same.
#if SNUG_LIBC_TELLS_SINGLE_THREADED
extern "C" SNUG_EXPORT char __libc_single_threaded;
#else
// In the process's libc it may be all the same: old binaries run on a new one.
extern "C" SNUG_WEAK_IMPORT char __libc_single_threaded;
#endif

namespace snug::os {

// The limit on address space in bytes (ulimit -v), or SIZE_MAX if there is none.
size_t address_space_limit();
// Bytes of the longest file that the process may make; SIZE_MAX if there is no limit. A system call.
size_t file_size_limit();
// How much one reservation may take of so many addresses: a sixteenth; the rest is left to the program.
constexpr size_t reservation_limit(size_t addresses) { return addresses / 16; }

// Asks libc, once, for what the kernel told the program at its start, so that page_size() (os/memory.h),
// is_privileged() and the clocks (os/clock.h) need not ask under a lock. Any thread may call it, any number of times.
void learn_start();

// True if constructors are called with main's arguments, and perhaps before libc itself has the environment. musl calls
// them without arguments, and knows the environment before.
inline constexpr bool kConstructorsGetEnvironment = SNUG_IS_GLIBC;

// The same without libc: the auxiliary vector lies behind the environment that the kernel gave the program. Not for
// libc's `environ`, which the program may have replaced.
void learn_start_from(char** environment);

// True if the process runs with more rights than its caller (setuid): its environment must not be trusted then.
bool is_privileged();

// The number by which the OS knows the process.
uint32_t process_id();

// True if no other thread can be running. May be false although all other threads have ended, and is always false where
// libc does not tell (musl, glibc before 2.32).
inline bool is_single_threaded() {
#if SNUG_LIBC_TELLS_SINGLE_THREADED
  return __libc_single_threaded != 0;
#else
  return &__libc_single_threaded != nullptr && __libc_single_threaded != 0;
#endif
}

// True if no other thread is running: as is_single_threaded(), but where libc does not tell, the kernel is asked, by a
// system call. For a fork: a handler of a signal may fork in a process of one thread, whatever it has interrupted.
bool is_alone();

// 64 random bits from the kernel, which serve nothing else. If it refuses, or has none yet, the same 64 bits each time,
// made of the bytes that it gave the program at its start.
uint64_t random_seed();

}  // namespace snug::os
