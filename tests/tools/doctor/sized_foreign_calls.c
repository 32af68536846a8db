// Takes blocks from malloc and gives them back by a function of jemalloc's, which no preload replaces.
#include <stdlib.h>

void sdallocx(void* block, size_t size, int flags);

int main(void) {
  void* block = malloc(100);
  if (block != NULL) sdallocx(block, 100, 0);
  return 0;
}
