/* EXPECT abort: snug: free\({address}\): block is already free
 * delete_twice_at_once.cc: a small block is deleted twice in a row, its size told, and nothing after that would show
 * it. */
#include <new>

#include "misuse.h"

int main() {
  void* block = ::operator new(48);
  announce(block);
  ::operator delete(hidden(block), size_t{48});
  ::operator delete(hidden(block), size_t{48});
  return 0;
}
