/* EXPECT abort: snug: Pool<Node>::free\({address}\): not an element of this pool
 * pool_free_to_another.cc: an element is freed to another pool of its type. */
#define SNUG_POOL_CHECKS 1
#include <snug/pool.h>

#include "misuse.h"

struct Node {
  Node* next;
};

int main() {
  snug::Pool<Node> pool;
  snug::Pool<Node> other;
  Node* const node = pool.construct();
  announce(node);
  other.destroy(other.construct());
  other.destroy(node);
  return 0;
}
