/* glibc's malloc with one planted fault: PLANTED_SLOW spends some 5 microseconds in each call, PLANTED_HOG touches
 * 4 KiB more than asked, PLANTED_NONE has no fault. None of them writes a report as snug does. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <time.h>

extern void* __libc_malloc(size_t size);
extern void __libc_free(void* block);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);

void* malloc(size_t size);
void free(void* block);
void* calloc(size_t count, size_t size);
void* realloc(void* block, size_t size);

#if defined(PLANTED_SLOW)
static void* planted(size_t size) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < 5000);
  return __libc_malloc(size);
}
#elif defined(PLANTED_HOG)
static void* planted(size_t size) {
  char* block = __libc_malloc(size + 4096);
  if (block != NULL) memset(block + size, 1, 4096);
  return block;
}
#elif defined(PLANTED_NONE)
static void* planted(size_t size) { return __libc_malloc(size); }
#endif

void* malloc(size_t size) { return planted(size); }
void free(void* block) { __libc_free(block); }
void* calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void* realloc(void* block, size_t size) { return __libc_realloc(block, size); }
