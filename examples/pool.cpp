// A typed pool, an owner of one element, and a class with its own operator new.
#include <snug/pool.h>
#include <snug/pooled.h>

struct Point {
  double x, y;
};
struct Node : snug::Pooled<Node> {
  Node* next;
};

int main() {
  snug::Pool<Point> points;
  auto corner = points.make_unique(3.0, 4.0);  // destroyed and freed at the end of the block
  Node* const node = new Node{{}, nullptr};    // from the pool of all nodes
  delete node;
  return corner->x + corner->y == 7.0 ? 0 : 1;
}
