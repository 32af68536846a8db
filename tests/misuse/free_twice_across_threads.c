/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_across_threads.c: two threads free one block of a third; their caches empty when they end. */
#include "misuse.h"

#include <pthread.h>

static void* release(void* block) {
  free(hidden(block));
  return NULL;
}

int main(void) {
  void* block = malloc(200);
  announce(block);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, release, block) != 0) return 1;
    pthread_join(thread, NULL);
  }
  /* What they freed must reach the owner. */
  work_through(200);
  return 0;
}
