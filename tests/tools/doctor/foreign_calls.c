// Calls an allocator by functions that no preload replaces.
#include <stddef.h>

void* mi_malloc(size_t size);
void mi_free(void* block);

int main(void) {
  mi_free(mi_malloc(100));
  return 0;
}
