/* on_large_pages.c: allocates a block with the archive, on a kernel with pages that may be longer than snug runs on. */
#include <snug/snug.h>

int main(void) {
  snug_free(snug_malloc(100));
  return 0;
}
