/* A store of raw pointers that moves its blocks: it is filled, loses most of them, and closes up, asking the allocator
 * of each block that is left whether it should move. Nothing else points to them, so that is all it takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snug/snug.h"

enum { kBlocks = 200000, kLargest = 600 };

static char* blocks[kBlocks];
static size_t sizes[kBlocks];

static size_t resident_kib(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return pages * ((size_t)sysconf(_SC_PAGESIZE) / 1024);
}

static size_t move_blocks(void) {
  size_t moved = 0;
  for (size_t i = 0; i < kBlocks; ++i) {
    if (!snug_should_move(blocks[i])) continue;
    char* to = snug_malloc_uncached(sizes[i]);
    if (to == NULL) break;
    memcpy(to, blocks[i], sizes[i]);
    snug_free_uncached(blocks[i]);
    blocks[i] = to;
    ++moved;
  }
  return moved;
}

int main(void) {
  srand(1);
  for (size_t i = 0; i < kBlocks; ++i) {
    sizes[i] = 1 + (size_t)rand() % kLargest;
    blocks[i] = snug_malloc(sizes[i]);
    if (blocks[i] == NULL) return 1;
    memset(blocks[i], (int)(i % 251), sizes[i]);
  }
  for (size_t i = 0; i < kBlocks; ++i)
    if (rand() % 10 < 7) {
      snug_free(blocks[i]);
      blocks[i] = NULL;
    }
  snug_malloc_trim(0);
  const size_t scattered = resident_kib();
  printf("70%% are gone:    RSS %6zu KiB\n", scattered);

  size_t moved;
  for (int round = 1; round <= 5 && (moved = move_blocks()) != 0; ++round) {
    snug_malloc_trim(0);
    printf("%6zu moved:     RSS %6zu KiB\n", moved, resident_kib());
  }
  for (size_t i = 0; i < kBlocks; ++i)
    for (size_t byte = 0; blocks[i] != NULL && byte < sizes[i]; ++byte)
      if ((unsigned char)blocks[i][byte] != i % 251) return 1;
  if (snug_check(1) != NULL) return 1;
  return resident_kib() < scattered * 6 / 10 ? 0 : 1;
}
