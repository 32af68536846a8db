/* A cache that gives way: the heap may hold 32 MiB, and the cache drops its oldest entries before a request fails. */
#include <stdio.h>
#include <string.h>

#include "snug/limits.h"
#include "snug/snug.h"

enum { kEntries = 65536 };

struct cache {
  char* entries[kEntries]; /* a ring */
  size_t first, count;
};

static int drop_oldest(const struct snug_pressure* pressure, void* argument) {
  struct cache* cache = argument;
  size_t dropped = 0;
  if (pressure != NULL && pressure->heap != NULL) return 0; /* another heap's own limit: nothing of it is here */
  for (; cache->count != 0 && dropped != 256; ++dropped, --cache->count)
    snug_free(cache->entries[cache->first++ % kEntries]);
  return dropped != 0; /* 0 once there is nothing more: then the request fails */
}

int main(void) {
  static struct cache cache;
  struct snug_limits limits = {.size = sizeof limits};
  if (snug_set("soft_limit:24M,limit:32M") != 0) return 1;
  if (snug_on_pressure(drop_oldest, &cache, SNUG_PRESSURE_SOFT | SNUG_PRESSURE_HARD) != 0) return 1;
  for (int i = 0; i != 60000; ++i) { /* 60 MB in all */
    char* entry = snug_malloc(1000);
    if (entry == NULL) return 1;
    memset(entry, i, 1000);
    cache.entries[(cache.first + cache.count++) % kEntries] = entry;
  }
  snug_get_limits(&limits);
  printf("%zu entries, %.1f MiB held of %.1f\n", cache.count, (double)limits.held / (1 << 20),
         (double)limits.limit / (1 << 20));
  while (drop_oldest(NULL, &cache)) {
  }
  return snug_on_pressure(drop_oldest, &cache, 0) != 0 || limits.refused != 0;
}
