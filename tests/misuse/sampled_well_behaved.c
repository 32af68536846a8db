/* EXPECT exit with check:sample:
 * sampled_well_behaved.c: blocks on guarded pages are written in full, resized and freed. */
#include "misuse.h"

int main(void) {
  for (int i = 0; i < 20; ++i) {
    char* block = sampled(i % 2);
    memset(block, i, kSampled);
    block = realloc(block, 3000);
    for (int k = 0; k < kSampled; ++k)
      if (block[k] != (char)i) return 1;
    free(block);
    char* zeroed = calloc(1, 200);
    for (int k = 0; k < 200; ++k)
      if (zeroed[k] != 0) return 2;
    free(zeroed);
  }
  return 0;
}
