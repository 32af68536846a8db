/* EXPECT abort: snug: Pool<Node>::deallocate\({address}\): element is already free
 * pool_free_twice_cancelled.cc: the thread that frees an element twice is to be cancelled. It must end the process by
 * the message, not itself at it. */
#include <pthread.h>
#include <snug/pool.h>

#include "misuse.h"

struct Node {
  Node* next;
};

static snug::Pool<Node, snug::Locked, snug::Checked> pool;

static void* free_twice(void* unused) {
  Node* const node = pool.construct();
  announce(node);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  pthread_cancel(pthread_self());
  pool.deallocate(node);
  pool.deallocate(static_cast<Node*>(hidden(node)));
  return unused;
}

int main() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, free_twice, nullptr) != 0) return 99;
  pthread_join(thread, nullptr);
  return 0;
}
