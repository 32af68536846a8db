/* limit_probe.c: a small program that must live under a limited address space. Usage: limit_probe ALLOCATOR MEBIBYTES
 *
 * It serves a 1 MB block, small blocks, a thread; runs into the limit, where malloc must answer NULL with ENOMEM and
 * leave what is live whole; gives everything back, and must then be served again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxBlocks = 1 << 20 };

static unsigned char** blocks;
static size_t count;

static int fail(const char* what, size_t size) {
  fprintf(stderr, "limit_probe: %s (size %zu, %zu blocks live, errno %d)\n", what, size, count, errno);
  return 1;
}

/* Fills the address space with blocks of one size; the first and last bytes of each are marked with its number. */
static int exhaust(size_t size, size_t at_least) {
  size_t served = 0;
  count = 0;
  for (;;) {
    errno = 0;
    unsigned char* block = malloc(size);
    if (!block) break;
    if (count == kMaxBlocks) return fail("never exhausted", size);
    memcpy(block, &count, sizeof count);
    memcpy(block + size - sizeof count, &count, sizeof count);
    blocks[count++] = block;
    served += size;
  }
  if (errno != ENOMEM) return fail("exhaustion without ENOMEM", size);
  if (served < at_least) return fail("exhausted too early", size);
  for (size_t i = 0; i < count; ++i)
    if (memcmp(blocks[i], &i, sizeof i) != 0 || memcmp(blocks[i] + size - sizeof i, &i, sizeof i) != 0)
      return fail("a block was damaged", size);
  for (size_t i = 0; i < count; ++i) free(blocks[i]);
  count = 0;
  void* again = malloc(1000000);
  if (!again) return fail("1 MB refused after everything was freed", size);
  free(again);
  return 0;
}

static void* in_thread(void* argument) {
  char* block = malloc(100000);
  if (!block) return argument;
  memset(block, 1, 100000);
  free(block);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const size_t mebibytes = strtoul(argv[2], NULL, 10);
  Dl_info info;
  if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) || !strstr(info.dli_fname, argv[1]))
    return fail("served by another malloc", 0);
  char* megabyte = malloc(1000000);
  if (!megabyte) return fail("a 1 MB block was refused", 1000000);
  memset(megabyte, 3, 1000000);
  for (size_t size = 1; size < 300000; size = size * 5 / 4 + 1) {
    char* block = malloc(size);
    if (!block) return fail("a small block was refused", size);
    memset(block, 1, size);
    free(block);
  }
  /* The table itself must not come from the heap under test: exhaustion would then depend on it. */
  static unsigned char* table[kMaxBlocks];
  blocks = table;
  /* Half of what the limit leaves, beside the program, libc and its locale, must reach the program. */
  const size_t floor_bytes = (mebibytes << 20) / 2;
  if (exhaust(1 << 20, floor_bytes - (12 << 20)) || exhaust(20000, floor_bytes - (16 << 20)) ||
      exhaust(4000, floor_bytes - (16 << 20)) || exhaust(5 << 20, floor_bytes - (16 << 20)))
    return 1;
  for (int i = 0; i < 1000000; ++i)
    if (megabyte[i] != 3) return fail("the first block was damaged", 1000000);
  free(megabyte);
  /* A thread wants an 8 MiB stack and, of a careless allocator, an arena of its own. */
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  void* failed = NULL;
  if (pthread_create(&thread, &attributes, in_thread, argv)) return fail("no thread", 0);
  pthread_join(thread, &failed);
  if (failed) return fail("a block was refused to a thread", 100000);
  puts("lived within the limit");
  return 0;
}
