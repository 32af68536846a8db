/* EXPECT abort: snug: free\({address}\): points inside a block
 * free_inside_waiting.c: another thread frees a pointer into a block among many; its owner allocates the same size, and
 * would get it out of what it was sent. */
#include "misuse.h"

#include <pthread.h>

enum { kBlocks = 4096 };
static char* blocks[kBlocks];

static void* release(void* wrong) {
  for (int i = kBlocks / 2; i < kBlocks; ++i) free(hidden(i == 3000 ? wrong : blocks[i]));
  return NULL;
}

int main(void) {
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(200);
  announce(blocks[3000] + 16);
  pthread_t thread;
  if (pthread_create(&thread, NULL, release, blocks[3000] + 16) != 0) return 1;
  pthread_join(thread, NULL);
  for (int i = 0; i < kBlocks; ++i) *(volatile char*)malloc(200) = 1;
  return 0;
}
