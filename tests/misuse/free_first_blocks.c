/* EXPECT exit:
 * free_first_blocks.c: blocks are freed into an array that is empty or has just grown, one by one and in rows: what
 * lies below an array is never taken for a block. */
#include "misuse.h"

int main(void) {
  static void* blocks[2000];
  for (int repeat = 0; repeat < 3; ++repeat)
    for (size_t size = 1; size <= 100000; size += size / 3 + 1) {
      const int count = size < 4000 ? 2000 : 100;
      for (int i = 0; i < count; ++i) blocks[i] = malloc(size);
      for (int i = 0; i < count; ++i) free(blocks[i]);
      for (int i = 0; i < count; ++i) free(malloc(size));
      malloc_trim(0);
      free(NULL);
    }
  return 0;
}
