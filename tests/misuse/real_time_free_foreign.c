/* EXPECT abort: snug: free\({address}\): not a block of this heap
 * real_time_free_foreign.c: an address of the real-time region in which no part is. */
#include "misuse.h"
#include "snug/realtime.h"

int main(void) {
  if (snug_realtime_begin(4 << 20) != 0 || snug_realtime_enter(1 << 20) != 0) return 1;
  char* block = malloc(100);
  announce(block + (2 << 20));
  free(hidden(block + (2 << 20)));
  return 0;
}
