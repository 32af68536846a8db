/* EXPECT abort: snug: Pool<Node>::destroy\(0x0\): not an element of this pool
 * pool_destroy_null.cc: null is destroyed, whose destructor would read from it. */
#include <snug/pool.h>

#include <memory>

#include "misuse.h"

struct Node {
  std::unique_ptr<int> value;
};

int main() {
  snug::Pool<Node, snug::Locked, snug::Checked> pool;
  pool.destroy(static_cast<Node*>(hidden(nullptr)));
  return 0;
}
