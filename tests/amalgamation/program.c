/* Asks the system's names and snug's for memory, and says which of them snug has served. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snug.h"

static uint64_t allocations(void) {
  struct snug_stats stats;
  snug_get_stats(&stats);
  return stats.allocations;
}

int main(void) {
  const uint64_t before = allocations();
  char* volatile ours = snug_malloc(100);
  const uint64_t between = allocations();
  char* volatile theirs = malloc(100);
  char* volatile copied = strdup("by libc");
  const uint64_t after = allocations();
  printf("snug_malloc %d malloc %d\n", (int)(between - before), (int)(after - between));
  free(copied);
  free(theirs);
  snug_free(ours);
  return snug_check(1) != NULL;
}
