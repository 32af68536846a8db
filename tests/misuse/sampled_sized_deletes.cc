/* EXPECT exit with check:sample,sized_delete:trust:
 * sampled_sized_deletes.cc: guarded blocks are deleted with their sizes, and written in full. */
#include <new>

#include "misuse.h"

int main() {
  static void* blocks[20000];
  const auto size_of = [](int block, int round) { return 1100 + static_cast<size_t>((block + round) % 150); };
  for (int round = 0; round < 50; ++round) {
    int i = 0;
    for (void*& block : blocks) {
      block = ::operator new(size_of(i, round));
      memset(block, round, size_of(i++, round));
    }
    i = 0;
    for (void* block : blocks) ::operator delete(hidden(block), size_of(i++, round));
  }
  return 0;
}
