/* snug_functions.c: allocates by the names of libsnug.a and says how many blocks snug counts; malloc stays libc's. */
#include <snug/snug.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* volatile block;

int main(void) {
  char compiled[32];
  struct snug_stats stats;
  snprintf(compiled, sizeof compiled, "%d.%d.%d", SNUG_VERSION_MAJOR, SNUG_VERSION_MINOR, SNUG_VERSION_PATCH);
  if (strcmp(snug_version(), compiled) != 0) return 1;
  for (int i = 0; i < 1000; ++i) block = snug_malloc(100);
  for (int i = 0; i < 1000; ++i) block = malloc(100);
  if (snug_get_stats(&stats) != 0) return 1;
  printf("%llu\n", (unsigned long long)stats.allocations);
  return 0;
}
