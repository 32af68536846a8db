// The allocator that is watched: whatever would serve the program without the recorder.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstddef>

#include "recorder/early_blocks.h"

namespace snug::recorder {

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
  struct mallinfo2 (*mallinfo2)();
  // Whether it is the allocator's usable_size, and not that of another one behind it.
  bool has_usable_size;
  // Whether operator new and delete of the program are the recorder's, in all their forms.
  bool has_our_operators;
};

// Set once, by prepare().
extern Watched watched;
extern std::atomic<bool> is_watched_known;

extern EarlyBlocks early_blocks;

// Looks the allocator up, unless that cannot be done yet, or somebody is at it. True if it is known afterwards.
bool prepare_watched();

inline bool has_watched() { return is_watched_known.load(std::memory_order_acquire) || prepare_watched(); }

// The next definition of a function behind this library's own; null if there is none.
void* next_function(const char* name);

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(next_function(name));
}

}  // namespace snug::recorder
