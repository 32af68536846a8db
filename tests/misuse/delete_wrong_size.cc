/* EXPECT abort with sized_delete:trust: snug: free\({address}\): deleted with a size that is not .*, or already free
 * delete_wrong_size.cc: a small block is deleted with the size of a larger class, and leaves the cache for its
 * slab. */
#include <new>

#include "misuse.h"

int main() {
  ::operator delete(hidden(::operator new(512)));  // so that the class has a cache
  void* block = ::operator new(48);
  announce(block);
  ::operator delete(hidden(block), size_t{512});
  malloc_trim(0);
  return 0;
}
