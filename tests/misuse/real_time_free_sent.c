/* EXPECT abort: snug: free\({address}\): block is already free
 * real_time_free_sent.c: a thread with deadlines frees a block that another thread has freed. */
#include <pthread.h>

#include "misuse.h"
#include "snug/realtime.h"

static void* send(void* block) {
  free(block);
  return NULL;
}

int main(void) {
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  pthread_t other;
  void* block = malloc(100);
  announce(block);
  pthread_create(&other, NULL, send, block);
  pthread_join(other, NULL);
  free(hidden(block));
  return 0;
}
