/* EXPECT abort: snug: Pool<Node>::~Pool\({address}\): a slot that was never handed out is marked as live
 * pool_bits_overwritten.cc: a stray store moves the mark of a live element to a slot that no element ever had, so that
 * the sums are right. */
#include <snug/pool.h>

#include "misuse.h"

struct Node {
  Node* next[2];
};

int main() {
  using NodePool = snug::Pool<Node, snug::SingleThread, snug::Checked>;
  NodePool pool(snug::PoolGrowth{65536, 65536});
  announce(&pool);
  Node* const first = pool.construct();
  const size_t slots = pool.stats().capacity;
  auto* const marks = static_cast<unsigned char*>(hidden(first + slots));
  marks[0] = 0;
  marks[(slots - 1) / 8] = 1;
  return 0;
}
