// on_resource.h: the loads on a resource of std::pmr, one for each heap. On glibc's malloc.
#pragma once

#include <memory_resource>

#include "loads.h"

namespace heaps {

template <class Resource, Sharing kIsShared>
class OnResource {
 public:
  static constexpr Ending kEnds = Ending::kAtOnce;
  static constexpr Sharing kSharing = kIsShared;
  static constexpr size_t kMostHeaps = SIZE_MAX;

  void* allocate(size_t size) { return resource_.allocate(size); }
  void free(void* block, size_t size) { resource_.deallocate(block, size); }

 private:
  Resource resource_;
};

}  // namespace heaps
