// PoolComponent: a pool for each multiple of 16 bytes up to kMostBytes. Larger requests, or those aligned to more than
// 16 bytes, go to snug's heap, from which the pools' blocks come. Alignments up to a pool's size are not kept, as they
// would waste memory that no user of pools wastes.
//
//   a block is of a pool  <=>  its size, which the caller of the free knows, is at most kMostBytes
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "snug/pool.h"
#include "snug/snug.h"

namespace snug::components {

class PoolComponent {
 public:
  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kMostBytes = 1024;

  void* allocate(std::size_t size, std::size_t alignment) {
    if (is_pooled(size)) return pool_of(size).try_allocate();
    return alignment > kStep ? snug_memalign(alignment, size) : snug_malloc(size);
  }
  // Pools have no reallocation: another size class takes a block of another pool.
  void* reallocate(void* block, std::size_t size_before, std::size_t size) {
    if (block != nullptr && is_pooled(size_before) && is_pooled(size) && index_of(size_before) == index_of(size))
      return block;
    if (block != nullptr && !is_pooled(size_before) && !is_pooled(size)) return snug_realloc(block, size);
    void* const moved = allocate(size, 0);
    if (moved == nullptr || block == nullptr) return moved;
    std::memcpy(moved, block, std::min(size_before, size));
    deallocate(block, size_before);
    return moved;
  }
  void deallocate(void* block, std::size_t size) {
    if (is_pooled(size))
      pool_of(size).deallocate(block);
    else
      snug_free(block);
  }
  static std::size_t usable_size(void* /*block*/) { return 0; }  // the user of a pool knows the size
  static void* address_of(void* block) { return block; }

 private:
  static constexpr std::size_t kPools = kMostBytes / kStep;

  struct Pools {
    template <std::size_t... kIndex>
    constexpr explicit Pools(std::index_sequence<kIndex...> /*all*/) : of{Pool<>((kIndex + 1) * kStep, kStep)...} {}
    Pool<> of[kPools];
  };

  static constexpr bool is_pooled(std::size_t size) { return size <= kMostBytes; }
  static constexpr std::size_t index_of(std::size_t size) { return size == 0 ? 0 : (size - 1) / kStep; }
  Pool<>& pool_of(std::size_t size) { return pools_.of[index_of(size)]; }

  Pools pools_{std::make_index_sequence<kPools>()};
};

}  // namespace snug::components
