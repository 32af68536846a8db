// A library with a malloc, and with names of its own for it.
#include "bump_malloc.h"

void* mi_malloc(size_t size) { return malloc(size); }
void mi_free(void* block) { free(block); }
void sdallocx(void* block, size_t size, int flags) {
  (void)size;
  (void)flags;
  free(block);
}
void mi_stats_print(void* out) { (void)out; }
