/* EXPECT abort: snug: Pool\{32, 16\}::allocate\({address}\): a free element was written over: its link leads here
 * pool_write_after_free.cc: an element is written to after it was freed, and two more are allocated. */
#include <snug/pool.h>

#include "misuse.h"

int main() {
  snug::Pool<void, snug::SingleThread, snug::Checked> pool{32, 16};
  void** const element = static_cast<void**>(pool.allocate());
  pool.deallocate(element);
  announce(&pool);
  *static_cast<void**>(hidden(element)) = &pool;
  return pool.allocate() == pool.allocate();
}
