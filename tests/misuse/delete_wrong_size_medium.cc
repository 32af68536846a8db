/* EXPECT abort with sized_delete:trust: snug: free\({address}\): deleted with a size that is not .*, or already free
 * delete_wrong_size_medium.cc: a block above 1 KiB is deleted with the size of a smaller class, and leaves the
 * cache. */
#include <new>

#include "misuse.h"

int main() {
  ::operator delete(hidden(::operator new(3000)));  // so that the class has a cache
  void* block = ::operator new(20000);
  announce(block);
  ::operator delete(hidden(block), size_t{3000});
  malloc_trim(0);
  return 0;
}
