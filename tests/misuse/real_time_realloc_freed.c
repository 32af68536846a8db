/* EXPECT abort: snug: realloc\({address}\): block is already free
 * real_time_realloc_freed.c: a thread with deadlines resizes a block that it has freed. */
#include "misuse.h"
#include "snug/realtime.h"

int main(void) {
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  void* block = malloc(100);
  void* behind = malloc(100);
  announce(block);
  free(block);
  void* resized = realloc(hidden(block), 200);
  free(resized);
  free(behind);
  return 0;
}
