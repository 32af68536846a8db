/* allocating N: allocates N blocks of 100 bytes, writes to each, keeps them all, and prints N. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** arguments) {
  long blocks = count > 1 ? strtol(arguments[1], NULL, 10) : 20000;
  void** kept = calloc((size_t)blocks, sizeof *kept);
  if (kept == NULL) return 1;
  for (long i = 0; i < blocks; i++) {
    kept[i] = malloc(100);
    if (kept[i] == NULL) return 1;
    memset(kept[i], 1, 100);
  }
  printf("%ld\n", blocks);
  for (long i = 0; i < blocks; i++) free(kept[i]);
  free(kept);
  return 0;
}
