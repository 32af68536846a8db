// The watched functions: the allocator's, the runtime's operators, and those of libc for mappings, threads, forks and
// libraries; those that would serve the program without the recorder.
//
// All are looked up at once, at the first allocation: a look-up takes the dynamic linker's lock, and a thread may hold
// that lock while it waits, in the constructor of a library that it loads, for the thread that looks up.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/early_blocks.h"
#include "trace/mallinfo2.h"
#include "trace/operation.h"

namespace snug::recorder {

// Null are: mallinfo2, where nobody has it; new and delete, without a C++ runtime.
struct Watched {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*reallocarray)(void*, std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  void (*free)(void*);
  std::size_t (*usable_size)(void*);
  int (*trim)(std::size_t);
  trace::Mallinfo2 (*mallinfo2)();

  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  void* (*mmap64)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
  void* (*sbrk)(intptr_t);
  int (*brk)(void*);
  int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  pid_t (*fork)();
  int (*dlclose)(void*);

  // True if usable_size is the allocator's own, and not that of another one behind it.
  bool has_usable_size;
  // The same for its mallinfo2.
  bool has_mallinfo;
  // True if operator new and delete of the program are the recorder's, in all their forms.
  bool has_our_operators;
};

// Set once, by prepare().
extern Watched watched;
extern std::atomic<bool> is_watched_known;

extern EarlyBlocks early_blocks;

// Looks the allocator up, unless that cannot be done yet, or another thread is doing so. True if it is known
// afterwards.
bool prepare_watched();

inline bool has_watched() { return is_watched_known.load(std::memory_order_acquire) || prepare_watched(); }

// The C++ runtime's own form of operator new or delete; null if there is no runtime.
void* operator_of_runtime(trace::Operation operation);

}  // namespace snug::recorder
