/* The cell heap in C: its record and its cells in one array, and nothing of libc but memcpy behind it. */
#include <stdio.h>
#include <string.h>

#include "snug/cell_heap_c.h"

static char memory[1 << 16];

int main(void) {
  struct snug_cell_heap* heap = snug_cell_heap_create(memory, sizeof memory);
  char* text = snug_cell_malloc(heap, 16);
  strcpy(text, "cells");
  text = snug_cell_realloc(heap, text, 1000); /* in place: the cell behind is free */
  struct snug_cell_stats stats;
  snug_cell_get_stats(heap, &stats);
  printf("%s: %zu of %zu bytes free\n", text, stats.bytes_free, stats.bytes_total);
  snug_cell_free(heap, text);
  return snug_cell_check(heap) == NULL ? 0 : 1;
}
