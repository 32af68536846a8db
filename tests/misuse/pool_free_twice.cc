/* EXPECT abort: snug: Pool<Node>::deallocate\({address}\): element is already free
 * pool_free_twice.cc: an object of a class with a pool of its own is deleted twice. */
#include <snug/pooled.h>

#include "misuse.h"

struct Node : snug::Pooled<Node, snug::SingleThread, snug::Checked> {
  Node* next;
};

int main() {
  Node* const node = new Node;
  Node* const other = new Node;
  announce(node);
  delete node;
  delete other;
  delete static_cast<Node*>(hidden(node));
  return 0;
}
