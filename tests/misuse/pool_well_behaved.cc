/* EXPECT exit:
 * pool_well_behaved.cc: checked pools report nothing if a program cleans up, drops all, or gives null back. */
#include <snug/pool.h>
#include <snug/pooled.h>

#include "misuse.h"

struct Node : snug::Pooled<Node, snug::SingleThread, snug::Checked> {
  Node* next;
};

int main() {
  snug::Pool<long, snug::SingleThread, snug::Checked> pool;
  for (long i = 0; i < 1000; ++i) *pool.construct(i) += 1;
  pool.drop_all();
  pool.destroy(pool.construct(1));
  pool.destroy(nullptr);
  Node* const kept = new Node;  // a class's own pool is never destroyed
  return hidden(kept) == nullptr;
}
