/* early_resolver.c: malloc before there is thread-local storage. The dynamic linker calls the resolver of an indirect
 * function while it relocates the program; what the resolver allocates must be there, unchanged, in main. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlocks = 2000 };

static unsigned char* blocks[kBlocks];
static unsigned char* large;

static size_t size_of(int i) { return (size_t)(i * 37 % 3000) + 1; }

static int answer(void) { return 42; }

static int (*resolve(void))(void) {
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = malloc(size_of(i));
    if (blocks[i] == NULL) return NULL;
    memset(blocks[i], i, size_of(i));
  }
  for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
  large = calloc(1, 1 << 20);
  if (large == NULL || large[0] != 0) return NULL;
  large[0] = 7;
  large = realloc(large, 3 << 20);
  return answer;
}

int question(void) __attribute__((ifunc("resolve")));

int main(void) {
  int damaged = large == NULL || large[0] != 7;
  for (int i = 1; i < kBlocks; i += 2)
    for (size_t k = 0; k < size_of(i); ++k) damaged += blocks[i][k] != (unsigned char)i;
  for (int i = 1; i < kBlocks; i += 2) free(blocks[i]);
  free(large);
  for (int i = 0; i < kBlocks; ++i) free(malloc((size_t)i));
  printf("answer: %d, damaged: %d\n", question(), damaged);
  return damaged != 0;
}
