// The bodies of the C functions, shared by their global and their snug_ names: argument checks and errno are here, the
// work is in allocator/.
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "allocator/blocks.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "os/memory.h"

namespace snug {

// 0, or -1 with errno.
inline int answer(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// Null with errno.
inline decltype(nullptr) refuse(int error) {
  errno = error;
  return nullptr;
}

SNUG_ALWAYS_INLINE void* reallocate(void* block, size_t size) {
  if (block == nullptr) [[unlikely]]
    return allocate(size);
  if (size == 0) [[unlikely]] {
    // Size 0 frees the block, as with glibc.
    deallocate(block);
    return nullptr;
  }
  return resize(block, size, "realloc");
}

inline void* reallocate_array(void* block, size_t count, size_t size) {
  size_t bytes = 0;
  if (multiply_overflows(count, size, &bytes)) return refuse(ENOMEM);
  return reallocate(block, bytes);
}

// aligned_alloc and memalign: an alignment that is no power of two is EINVAL.
inline void* align(size_t alignment, size_t size) {
  return is_power_of_two(alignment) ? allocate_aligned(alignment, size) : refuse(EINVAL);
}

// A refusal sets errno too, as with glibc.
inline int align_posix(void** block, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* aligned = allocate_aligned(alignment, size);
  if (aligned == nullptr) return ENOMEM;
  *block = aligned;
  return 0;
}

inline void* align_to_page(size_t size) { return allocate_aligned(os::page_size(), size); }

inline void* align_to_whole_pages(size_t size) {
  const size_t page = os::page_size();
  if (size > SIZE_MAX - page) return refuse(ENOMEM);
  return allocate_aligned(page, round_up(size == 0 ? 1 : size, page));
}

// mallopt: none of glibc's parameters has a counterpart here. All are accepted, unknown ones too, as with glibc.
inline int set_option(int, int) { return 1; }

}  // namespace snug
