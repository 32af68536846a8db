/* EXPECT abort: snug: Pool<Node>::destroy\({address}\): element is already free
 * pool_destroy_twice.cc: an element is destroyed twice; its destructor would follow the links of a freed one. */
#include <snug/pool.h>

#include <string>

#include "misuse.h"

struct Node {
  std::string name = std::string(100, 'x');
};

int main() {
  snug::Pool<Node, snug::SingleThread, snug::Checked> pool;
  Node* const node = pool.construct();
  announce(node);
  pool.destroy(node);
  pool.destroy(static_cast<Node*>(hidden(node)));
  return 0;
}
