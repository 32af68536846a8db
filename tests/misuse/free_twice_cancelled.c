/* EXPECT abort: snug: free\({address}\): (block is already free|not a block of this heap)
 * free_twice_cancelled.c: the thread that frees a large block twice is to be cancelled. It must end the process, not
 * itself at the message.
 */
#include <pthread.h>

#include "misuse.h"

static void* free_twice(void* unused) {
  void* block = malloc(8 << 20);
  announce(block);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  pthread_cancel(pthread_self());
  free(block);
  free(hidden(block));
  return unused;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, free_twice, NULL) != 0) return 99;
  pthread_join(thread, NULL);
  return 0;
}
