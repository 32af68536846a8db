/* An event loop that gives memory back between its events, a slice at a time, without a thread for that. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "snug/snug.h"

enum { kBlocks = 64, kBlock = 1 << 20, kSlice = 4 << 20 };

static void serve(void) { /* an event that needs 64 MiB for a moment */
  void* blocks[kBlocks];
  for (int i = 0; i != kBlocks; ++i)
    if ((blocks[i] = snug_malloc(kBlock)) != NULL) memset(blocks[i], 1, kBlock);
  for (int i = 0; i != kBlocks; ++i) snug_free(blocks[i]);
}

int main(void) {
  struct snug_stats stats;
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], "2", 1) != 1) return 1;
  for (int idle = 0; idle == 0;) {
    struct pollfd event = {ends[0], POLLIN, 0};
    if (poll(&event, 1, 0) != 0) { /* there is something to do */
      char rounds;
      if (read(ends[0], &rounds, 1) != 1) return 1;
      serve();
      if (--rounds != '0' && write(ends[1], &rounds, 1) != 1) return 1;
    } else if (snug_purge(kSlice) == 0) {
      idle = 1; /* nothing is left: a loop that goes on would now wait in poll */
    }
  }
  snug_get_stats(&stats);
  printf("%.1f MiB given back\n", (double)stats.bytes_purged / (1 << 20));
  return stats.bytes_purged == 0;
}
