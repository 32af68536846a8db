// Holds blocks until it gets a line, says so, and frees them at the next one: for what is asked of it meanwhile.
#include <stdio.h>
#include <stdlib.h>

enum { kBlocks = 1000, kBytes = 3000 };
static void* blocks[kBlocks];

__attribute__((noinline)) static void hold_blocks(void) {
  for (int i = 0; i != kBlocks; ++i) blocks[i] = malloc(kBytes);
}

int main(void) {
  char line[16];
  setvbuf(stdout, NULL, _IONBF, 0);
  setvbuf(stdin, NULL, _IONBF, 0);
  hold_blocks();
  puts("held");
  if (fgets(line, sizeof line, stdin) == NULL) return 1;
  for (int i = 0; i != kBlocks; ++i) free(blocks[i]);
  puts("freed");
  return fgets(line, sizeof line, stdin) == NULL;
}
