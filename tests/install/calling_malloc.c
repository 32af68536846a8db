/* calling_malloc.c: calls malloc by name, which libsnug.so defines. */
#include <stdlib.h>

void* volatile block;

int main(void) {
  for (int i = 0; i < 1000; ++i) block = malloc(100);
  return block == NULL;
}
