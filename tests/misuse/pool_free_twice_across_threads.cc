/* EXPECT abort: snug: Pool<Node>::destroy\({address}\): element is already free
 * pool_free_twice_across_threads.cc: an element of a pool with thread caches is destroyed by two threads. */
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <thread>

#include "misuse.h"

struct Node {
  Node* next;
};

int main() {
  snug::Pool<Node, snug::ThreadCached, snug::Checked> pool;
  Node* const node = pool.construct();
  announce(node);
  std::thread([&] { pool.destroy(node); }).join();
  pool.destroy(static_cast<Node*>(hidden(node)));
  return 0;
}
