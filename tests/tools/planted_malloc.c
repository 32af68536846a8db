/* glibc's malloc with one planted fault: PLANTED_SLOW spends some 5 microseconds in each call, PLANTED_HOG touches
 * 4 KiB more than asked, PLANTED_CORRUPT writes into blocks in use, PLANTED_CRASH dies and PLANTED_HANG waits
 * for ever, these three after a while, PLANTED_NONE has no fault, nor has PLANTED_POSER, which calls itself snug. None
 * of them writes a report as snug does. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern void* __libc_malloc(size_t size);
extern void __libc_free(void* block);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);

void* malloc(size_t size);
void free(void* block);
void* calloc(size_t count, size_t size);
void* realloc(void* block, size_t size);

#if defined(PLANTED_POSER)
const char* snug_version(void);
const char* snug_version(void) { return "planted"; }
#endif

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
#elif defined(PLANTED_CORRUPT) || defined(PLANTED_CRASH) || defined(PLANTED_HANG)
/* Enough for any program to start, and for the tool to ask for a version. */
enum { GRACE = 20000 };
static volatile int calls;
#if defined(PLANTED_CORRUPT)
/* The block before the last one is damaged while it is alive: its owner has written into it by then. */
static void* volatile last;
static void* planted(size_t size) {
  if (++calls > GRACE && last != NULL) *(volatile char*)last ^= 1;
  return last = __libc_malloc(size);
}
#else
static void* planted(size_t size) {
  if (++calls > GRACE) {
#if defined(PLANTED_CRASH)
    raise(SIGSEGV);
#else
    for (;;) pause();
#endif
  }
  return __libc_malloc(size);
}
#endif
#elif defined(PLANTED_NONE) || defined(PLANTED_POSER)
static void* planted(size_t size) { return __libc_malloc(size); }
#endif

void* malloc(size_t size) { return planted(size); }
void free(void* block) {
#if defined(PLANTED_CORRUPT)
  if (block == last) last = NULL;
#endif
  __libc_free(block);
}
void* calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
void* realloc(void* block, size_t size) { return __libc_realloc(block, size); }
