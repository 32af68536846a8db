/* EXPECT abort: snug: Pool<Node>::~Pool\({address}\): 2 still live, the first here
 * pool_leak.cc: a pool is destroyed while two of its elements are live. */
#define SNUG_POOL_CHECKS 1
#include <snug/pool.h>

#include "misuse.h"

struct Node {
  Node* next;
};

int main() {
  snug::Pool<Node> pool;
  Node* const gone = pool.construct();
  announce(pool.construct());
  Node* const last = pool.construct();
  last->next = nullptr;
  pool.destroy(gone);
  return 0;
}
