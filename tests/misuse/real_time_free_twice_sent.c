/* EXPECT abort: snug: free\({address}\): block is already free
 * real_time_free_twice_sent.c: another thread frees a block of a thread with deadlines, twice. */
#include <pthread.h>

#include "misuse.h"
#include "snug/realtime.h"

static void* send_twice(void* block) {
  free(block);
  free(hidden(block));
  return NULL;
}

int main(void) {
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  void* block = malloc(100);
  announce(block);
  pthread_t other;
  pthread_create(&other, NULL, send_twice, block);
  pthread_join(other, NULL);
  return 0;
}
