// CompactComponent: the compacting heap through its handles, which stand for addresses here. Each free may move a block
// of another page; an address is good until then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "snug/compact_heap_c.h"

namespace snug::components {

class CompactComponent {
 public:
  // False if there is no memory.
  bool begin(std::uint64_t not_full) {
    const snug_compact_options options = {.not_full = not_full,
                                          .increment = 0,
                                          .map = SNUG_COMPACT_FINE,
                                          .direct = 0,
                                          .region = nullptr,
                                          .region_bytes = 0,
                                          .handles = 0,
                                          .sharing = SNUG_COMPACT_ONE_THREAD};
    heap_ = snug_compact_create(&options);
    return heap_ != nullptr;
  }

  void* allocate(std::size_t size, std::size_t alignment) {
    const std::size_t asked = alignment > kAlignment ? alignment : 0;
    return block_of(snug_compact_alloc(heap_, size, asked));
  }
  void* reallocate(void* block, std::size_t /*size_before*/, std::size_t size) {
    if (block == nullptr) return allocate(size, 0);
    return snug_compact_resize(heap_, handle_of(block), size, 0) == 0 ? block : nullptr;
  }
  void deallocate(void* block, std::size_t /*size*/) { snug_compact_free(heap_, handle_of(block)); }
  std::size_t usable_size(void* block) {
    return block == nullptr ? 0 : snug_compact_usable_size(heap_, handle_of(block));
  }
  void* address_of(void* block) { return snug_compact_deref(heap_, handle_of(block)); }

 private:
  static constexpr std::size_t kAlignment = 16;  // that every block has

  static void* block_of(snug_handle handle) { return reinterpret_cast<void*>(handle); }
  static snug_handle handle_of(void* block) { return reinterpret_cast<snug_handle>(block); }

  snug_compact_heap* heap_ = nullptr;
};

}  // namespace snug::components
