/* on_large_pages.c: allocates a block of the archive's, on a kernel whose pages may be larger than snug's. */
#include <snug/snug.h>

int main(void) {
  snug_free(snug_malloc(100));
  return 0;
}
