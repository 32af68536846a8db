// Takes blocks from malloc, which a preload serves, and asks a linked library how many it handed out.
#include <stdlib.h>

void mi_stats_print(void* out);

int main(void) {
  free(malloc(100));
  mi_stats_print(NULL);
  return 0;
}
