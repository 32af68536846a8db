// jemalloc's own calls in terms of the standard ones, preloaded behind an allocator.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { kLgAlignment = 63, kZero = 64 };  // of jemalloc's flags; the others choose among its arenas and caches

void* mallocx(size_t size, int flags) {
  size_t alignment = (size_t)1 << (flags & kLgAlignment);
  void* block = NULL;
  if (alignment <= _Alignof(max_align_t)) return flags & kZero ? calloc(1, size) : malloc(size);
  if (posix_memalign(&block, alignment, size) != 0) return NULL;
  return flags & kZero ? memset(block, 0, size) : block;
}

// A request for an alignment or for zeros is refused here, which these calls may do: realloc keeps neither.
void* rallocx(void* block, size_t size, int flags) {
  return flags & (kLgAlignment | kZero) ? NULL : realloc(block, size);
}

void dallocx(void* block, int flags) {
  (void)flags;
  free(block);
}

void sdallocx(void* block, size_t size, int flags) {
  (void)size;
  (void)flags;
  free(block);
}
