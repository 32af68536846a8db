// A pool resource on snug's heap under a std::pmr container, an allocator for the standard ones, and a container on a
// pool of one's own.
#include <snug/allocator.h>
#include <snug/allocator_on.h>
#include <snug/resource.h>

#include <list>
#include <map>

int main() {
  snug::PoolResource pool(snug::heap_resource());
  std::pmr::map<int, int> squares(&pool);
  std::list<int, snug::PoolAllocator<int>> roots;
  for (int i = 0; i < 100; ++i) roots.push_back(squares[i * i] = i);

  snug::Pool<> nodes(sizeof(long) + 2 * sizeof(void*));
  std::list<long, snug::AllocatorOn<long, snug::Pool<>>> own(nodes);
  own.push_back(1);

  snug::MonotonicResource scratch;
  const auto mark = scratch.mark();
  static_cast<void>(scratch.allocate(1000));
  scratch.rewind(mark);  // as if it had not been allocated
  return squares.at(81) == 9 && roots.size() == 100 && nodes.stats().live == 1 ? 0 : 1;
}
