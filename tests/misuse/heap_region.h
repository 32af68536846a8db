/* heap_region.h: a heap in a region of the program's, for the programs of its misuse. */
#pragma once

#include "misuse.h"
#include "snug/heap.h"

enum { kRegionBytes = 1 << 21 };
static _Alignas(SNUG_HEAP_REGION_UNIT) char region[kRegionBytes];

static inline snug_heap* heap_in_region(void) {
  struct snug_heap_options options = {.size = sizeof options, .name = "region"};
  options.region = region;
  options.region_bytes = kRegionBytes;
  snug_heap* heap = snug_heap_create(&options);
  if (heap == NULL) _exit(97);
  return heap;
}
