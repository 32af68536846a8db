/* EXPECT abort: snug: free\({address}\): points inside a block
 * real_time_defer_inside.c: a thread with deadlines frees a pointer into an ordinary block. */
#include "misuse.h"
#include "snug/realtime.h"

int main(void) {
  char* block = malloc(100);
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  announce(block + 32);
  free(hidden(block + 32));
  return 0;
}
