// A program that fills what it allocates, frees some of it, and says what its allocator says of itself, and what is
// resident: what a replay of its trace is held against.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

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

int main(int count, char** arguments) {
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
