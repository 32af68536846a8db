/* EXPECT abort: snug: free\({address}\): address is not aligned as blocks are
 * real_time_free_odd.c: an odd address in a part of the real-time region. */
#include "misuse.h"
#include "snug/realtime.h"

int main(void) {
  if (snug_realtime_begin(1 << 20) != 0 || snug_realtime_enter(0) != 0) return 1;
  char* block = malloc(100);
  announce(block + 1);
  free(hidden(block + 1));
  return 0;
}
