/* EXPECT abort: snug: Pool<Node>::~Pool\({address}\): 2 still live, the first here
 * pool_leak.cc: a pool is destroyed while two of its elements are live. */
#include <snug/pool.h>

#include "misuse.h"

struct Node {
  Node* next;
};

int main() {
  snug::Pool<Node, snug::SingleThread, snug::Checked> pool;
  Node* const gone = pool.construct();
  announce(pool.construct());
  Node* const last = pool.construct();
  last->next = nullptr;
  pool.destroy(gone);
  return 0;
}
