/* EXPECT abort with sized_delete:trust: snug: free\({address}\): block is already free
 * delete_twice_medium.cc: a block of 64 KiB is deleted again once its slab has gone, and leaves the cache. */
#include <new>

#include "misuse.h"

int main() {
  ::operator delete(hidden(::operator new(65536)));  // so that the class has a cache
  void* block = ::operator new(65536);
  announce(block);
  ::operator delete(hidden(block), size_t{65536});
  malloc_trim(0);
  ::operator delete(hidden(block), size_t{65536});
  malloc_trim(0);
  return 0;
}
