/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_waiting.c: another thread frees a block twice, among others; its owner allocates the same size, and would
 * get both out of one batch. */
#include "misuse.h"

#include <pthread.h>

enum { kBlocks = 4096 };
static void* blocks[kBlocks];

static void* release(void* unused) {
  for (int i = kBlocks / 2; i < kBlocks; ++i) {
    free(hidden(blocks[i]));
    if (i == 4090) free(hidden(blocks[i]));
  }
  return unused;
}

int main(void) {
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(200);
  announce(blocks[4090]);
  pthread_t thread;
  if (pthread_create(&thread, NULL, release, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  for (int i = 0; i < kBlocks; ++i) *(volatile char*)malloc(200) = 1;
  return 0;
}
