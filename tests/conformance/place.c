/* place.c: says where the heap lies: the address of a small block. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  void* block = malloc(100);
  printf("%p\n", block);
  free(block);
  return 0;
}
