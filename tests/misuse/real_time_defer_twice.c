/* EXPECT abort: snug: free\({address}\): block is already free
 * real_time_defer_twice.c: a thread with deadlines frees an ordinary block twice, which others find. */
#include "misuse.h"
#include "snug/realtime.h"

int main(void) {
  char* block = malloc(100);
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  announce(block);
  free(block);
  free(hidden(block));
  snug_realtime_leave();
  work_through(100);
  return 0;
}
