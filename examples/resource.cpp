// A pool resource on snug's heap under a std::pmr container, and an allocator for the standard ones.
#include <snug/allocator.h>
#include <snug/resource.h>

#include <list>
#include <map>

int main() {
  snug::PoolResource pool(snug::heap_resource());
  std::pmr::map<int, int> squares(&pool);
  std::list<int, snug::PoolAllocator<int>> roots;
  for (int i = 0; i < 100; ++i) roots.push_back(squares[i * i] = i);
  return squares.at(81) == 9 && roots.size() == 100 ? 0 : 1;
}
