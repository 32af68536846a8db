/* EXPECT abort: snug: free\({address}\): block is already free
 * real_time_free_twice.c: a thread with deadlines frees a block twice. */
#include "misuse.h"
#include "snug/realtime.h"

int main(void) {
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  void* block = malloc(100);
  void* behind = malloc(100);
  announce(block);
  free(block);
  free(hidden(block));
  free(behind);
  return 0;
}
