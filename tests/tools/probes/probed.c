/* probed.c: calls that come by snug's probes, with arguments that are known. Prints "large ADDRESS" of a large block.
 */
#include <stdio.h>
#include <stdlib.h>

enum { kBlocks = 4000, kLarge = 3000000 };

int main(void) {
  static void* blocks[kBlocks];
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(1900);
  void* volatile large = malloc(kLarge);
  if (large == NULL) return 1;
  printf("large %p\n", large);
  fflush(stdout);
  free(large);
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  return 0;
}
