// The heap a program runs on, as a table of functions: snug itself, or one with a planted fault that proves that the
// runner would notice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <snug/snug.h>

namespace snug::model {

// True if so many bytes in use are right where the models hold `held`. In a checked process each block has some that
// are not the program's.
inline bool agrees_in_bytes(std::uint64_t bytes, std::uint64_t held) {
  const char* conf = std::getenv("SNUG_CONF");
  return conf != nullptr && std::string_view(conf).starts_with("check:on") ? bytes >= held : bytes == held;
}

struct AllocatorUnderTest {
  void* (*malloc)(size_t size);
  void* (*calloc)(size_t count, size_t size);
  void* (*realloc)(void* block, size_t size);
  void* (*aligned_alloc)(size_t alignment, size_t size);
  size_t (*malloc_batch)(size_t size, void** blocks, size_t count);
  void (*free)(void* block);
  void (*free_sized)(void* block, size_t size);
  void (*free_aligned_sized)(void* block, size_t alignment, size_t size);
  void (*free_batch)(void* const* blocks, size_t count);
  int (*should_move)(const void* block);
  size_t (*should_move_batch)(void* const* blocks, size_t count, unsigned char* answers);
  void* (*malloc_uncached)(size_t size);
  void (*free_uncached)(void* block);
  size_t (*usable_size)(void* block);
  int (*trim)(size_t pad);
  int (*get_stats)(snug_stats* stats);
  const char* (*check)(int all_heaps);
};

inline AllocatorUnderTest snug_under_test() {
  return {snug_malloc,
          snug_calloc,
          snug_realloc,
          snug_aligned_alloc,
          snug_malloc_batch,
          snug_free,
          snug_free_sized,
          snug_free_aligned_sized,
          snug_free_batch,
          snug_should_move,
          snug_should_move_batch,
          snug_malloc_uncached,
          snug_free_uncached,
          snug_malloc_usable_size,
          snug_malloc_trim,
          snug_get_stats,
          snug_check};
}

}  // namespace snug::model
