// CellComponent: the cell heap over one region, with TLSF's bins and cheap checks, as in libsnug_cell.a. The region is
// only address space; the heap's memory is the part that it has touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "snug/cell_heap.h"

namespace snug::components {

class CellComponent {
 public:
  // False if there is no such region.
  bool begin(std::uint64_t region_bytes) {
    void* const region =
        mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return region != MAP_FAILED && heap_.add_region(region, region_bytes) == nullptr;
  }

  void* allocate(std::size_t size, std::size_t alignment) {
    return alignment > kAlignment ? heap_.allocate_aligned(alignment, size) : heap_.allocate(size);
  }
  void* reallocate(void* block, std::size_t /*size_before*/, std::size_t size) { return heap_.resize(block, size); }
  void deallocate(void* block, std::size_t /*size*/) { heap_.deallocate(block); }
  std::size_t usable_size(void* block) const { return heap_.usable_size(block); }
  static void* address_of(void* block) { return block; }

 private:
  static constexpr std::size_t kAlignment = 16;
  struct Policy : CellPolicy {
    static constexpr std::size_t kAlignment = CellComponent::kAlignment;  // malloc's
  };

  CellHeap<Policy> heap_;
};

}  // namespace snug::components
