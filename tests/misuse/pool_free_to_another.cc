/* EXPECT abort: snug: Pool<Node>::destroy\({address}\): not an element of this pool
 * pool_free_to_another.cc: an element is destroyed by another pool of its type. */
#include <snug/pool.h>

#include "misuse.h"

struct Node {
  Node* next;
};

int main() {
  using NodePool = snug::Pool<Node, snug::SingleThread, snug::Checked>;
  NodePool pool;
  NodePool other;
  Node* const node = pool.construct();
  announce(node);
  other.destroy(other.construct());
  other.destroy(node);
  return 0;
}
