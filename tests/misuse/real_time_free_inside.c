/* EXPECT abort: snug: free\({address}\): address is inside a block
 * real_time_free_inside.c: another thread frees a pointer into a block of a thread with deadlines. */
#include <pthread.h>

#include "misuse.h"
#include "snug/realtime.h"

static void* send(void* address) {
  free(hidden(address));
  return NULL;
}

int main(void) {
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  char* block = calloc(1, 100);
  announce(block + 32);
  pthread_t other;
  pthread_create(&other, NULL, send, block + 32);
  pthread_join(other, NULL);
  return 0;
}
