/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_alone.c: a thread without a cache frees a block twice, so that both travel alone; the first one empties
 * the slab, which goes. */
#include "misuse.h"

#include <pthread.h>

static void* release(void* block) {
  free(hidden(block));
  free(hidden(block));
  return NULL;
}

int main(void) {
  void* block = malloc(262144);
  announce(block);
  pthread_t thread;
  if (pthread_create(&thread, NULL, release, block) != 0) return 1;
  pthread_join(thread, NULL);
  malloc_trim(0);
  return 0;
}
