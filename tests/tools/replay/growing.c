// A program that fills what it allocates, frees some of it, and says what its allocator says of itself, and what is
// resident: what a replay of its trace is held against.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kBlocks = 60000, kBetweenPauses = 6000 };
static void* blocks[2][kBlocks];
static int is_slow;  // so that there is time for samples, while some are taken of a program that stands still

static void* grow(void* argument) {
  void** const mine = argument;
  unsigned random = mine == blocks[0] ? 1 : 2;
  for (int i = 0; i < 3 * kBlocks; ++i) {
    random = random * 1664525 + 1013904223;
    const unsigned place = (random >> 8) % kBlocks;
    const size_t size = 16 + (random >> 20) % 2000;
    free(mine[place]);
    mine[place] = malloc(size);
    memset(mine[place], 1, size);
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 40000000};
    if (is_slow && i % kBetweenPauses == 0) nanosleep(&pause, NULL);
  }
  return NULL;
}

static unsigned long resident(void) {
  unsigned long anonymous = 0, file = 0;
  char line[256];
  FILE* const status = fopen("/proc/self/status", "re");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    sscanf(line, "RssAnon: %lu", &anonymous);
    sscanf(line, "RssFile: %lu", &file);
  }
  if (status != NULL) fclose(status);
  return (anonymous + file) * 1024;
}

// What a program has in memory beside its heap.
enum { kBeside = 6 << 20 };
static char data[kBeside];
static void fill_what_is_no_heap(void) {
  memset(data, 1, sizeof data);
  void* const mapping = mmap(NULL, kBeside, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping != MAP_FAILED) memset(mapping, 1, kBeside);
}

// Large blocks of which a part is written: one lives until the end, others go at once; and one is only read.
static void write_parts(void) {
  enum { kPage = 4096, kKept = 64 << 20, kShort = 100 << 10 };
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20000000};
  volatile char* const kept = malloc(kKept);
  volatile char* const read = malloc(kKept);
  static volatile char sum;
  for (int i = 0; i < 40; ++i) {
    for (int page = 0; page < 25; ++page) kept[(i * 25 + page) * 16 * kPage] = 1;
    for (int page = 0; page < 400; ++page) sum += read[(i * 400 + page) * kPage];
    volatile char* const parts = malloc(kShort);
    parts[kShort / 2] = 1;
    free((void*)parts);
    nanosleep(&pause, NULL);
  }
}

// Large blocks of which both ends are written. They begin elsewhere in their pages than those of a program that has not
// moved its break.
static void write_ends(void) {
  enum { kMany = 4000, kSize = 40000 };
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20000000};
  if (sbrk(1616) == (void*)-1) abort();
  for (int i = 0; i < kMany; ++i) {
    volatile char* const block = malloc(kSize);
    block[0] = block[kSize - 1] = 1;
    if (i % 100 == 0) nanosleep(&pause, NULL);
  }
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "ends") == 0) {
    write_ends();
    return 0;
  }
  if (count > 1 && strcmp(arguments[1], "parts") == 0) {
    write_parts();
    return 0;
  }
  is_slow = count > 2 && strcmp(arguments[2], "slowly") == 0;
  if (is_slow) fill_what_is_no_heap();
  grow(blocks[0]);
  if (count > 1 && strcmp(arguments[1], "two") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, grow, blocks[1]);
    pthread_join(thread, NULL);
  }
  const struct mallinfo2 info = mallinfo2();
  printf("%zu %lu\n", info.uordblks + info.hblkhd, resident());
  fflush(stdout);
  _Exit(0);
}
