/* only_strdup.c: allocates, and calls nothing that libsnug.so defines. */
#include <string.h>

char* volatile copy;

int main(void) {
  for (int i = 0; i < 1000; ++i) copy = strdup("a block that libc asks for");
  return copy == NULL;
}
