/* EXPECT abort: snug: free\({address}\): block is already free
 * free_twice_at_exit.c: a block is freed twice in a thread that then simply ends: its cache must not swallow it. */
#include "misuse.h"

#include <pthread.h>

static void* release_twice(void* unused) {
  void* block = malloc(48);
  announce(block);
  free(block);
  free(hidden(block));
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, release_twice, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  return 0;
}
