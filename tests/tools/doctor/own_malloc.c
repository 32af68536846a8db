// A program with a malloc built into it, exported or hidden as it is linked.
#include <stdint.h>
#include <stdio.h>

#include "bump_malloc.h"

int main(void) {
  const uintptr_t block = (uintptr_t)malloc(100);
  puts(block - (uintptr_t)memory < sizeof memory ? "mine" : "another's");
  return 0;
}
