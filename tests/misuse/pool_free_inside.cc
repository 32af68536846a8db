/* EXPECT abort: snug: Pool\{48, 16\}::deallocate\({address}\): not an element of this pool
 * pool_free_inside.cc: an address inside an element of an untyped pool is freed. */
#include <snug/pool.h>

#include "misuse.h"

int main() {
  snug::Pool<void, snug::SingleThread, snug::Checked> pool{48, 16};
  char* const element = static_cast<char*>(pool.allocate());
  announce(element + 16);
  pool.deallocate(element + 16);
  return 0;
}
