/* A plugin on the snug_ names. */
#include <snug/snug.h>

int plugin_allocates(void) {
  void* block = snug_malloc(100);
  snug_free(block);
  return block != 0;
}
