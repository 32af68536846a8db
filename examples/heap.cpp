// Heaps of one's own in C++: an owner, containers on a heap, and a limit that one tenant cannot exceed.
#include <snug/heap_owner.h>
#include <snug/heap_resource.h>

#include <cstdio>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

int main() {
  snug_heap_options options{};
  options.name = "tenant 7";
  options.limit = 1 << 20;
  snug::Heap tenant(options);

  std::vector<int, snug::OwnHeapAllocator<int>> numbers(tenant);
  numbers.assign(1000, 7);

  snug::OwnHeapResource memory(tenant);
  std::pmr::vector<std::pmr::string> names(&memory);
  names.emplace_back("too long for the string itself, and so in the tenant's heap");

  try {
    numbers.resize(1'000'000);
  } catch (const std::bad_alloc&) {
    std::printf("%s: no more than %d bytes\n", tenant.name(), static_cast<int>(tenant.stats().limit));
  }
  return tenant.owns(names[0].data()) && numbers.size() == 1000 ? 0 : 1;
}
