// Zeroed blocks beside calloc's: aligned ones, and those that realloc makes longer.
#include <stdint.h>
#include <string.h>

#include "allocator/blocks.h"
#include "allocator/heap_blocks.h"
#include "allocator/plain_blocks.h"
#include "allocator/real_time_blocks.h"
#include "allocator/refusal.h"
#include "base/algorithm.h"
#include "base/bits.h"
#include "base/fatal.h"

namespace snug {
namespace {

// True if the block is one of malloc's own, so that its large successor is made as calloc makes one.
bool may_become_large(const void* block) {
  return !allocator.is_checked() && heap_of(block) == nullptr && !allocator.real_time.contains(block) &&
         announced_part() == nullptr;
}

// A large block of malloc's own made longer without copying; null if that cannot be done.
void* lengthened(void* block, size_t before, size_t size) {
  const size_t extent = allocator.large_blocks.extent(block);
  if (extent == 0) return nullptr;
  void* const resized = resize_large(block, size);
  allocator.purge_kept_mappings();
  allocator.relieve_if_passed();
  if (resized != nullptr) allocator.large_blocks.clear(resized, before, extent, size);
  return resized;
}

void* moved_to_large(void* block, size_t before, size_t size) {
  const ScopePause pause;  // it stays in malloc's own heap
  void* const fresh = allocate_plain_large({.size = size, .zeroed = true, .will_grow = true});
  if (fresh == nullptr) return nullptr;
  memcpy(fresh, block, before);
  deallocate(block);
  return fresh;
}

}  // namespace

void* allocate_aligned_zeroed(size_t alignment, size_t count, size_t size) noexcept {
  size_t bytes = 0;
  if (multiply_overflows(count, size, &bytes)) return out_of_memory();
  if (alignment <= kSmallStep) return allocate_zeroed(1, bytes);
  if (bytes > PTRDIFF_MAX || !allocator.ensure_open()) return out_of_memory();
  const bool is_large = allocator.table->aligned_class_of(alignment, bytes) == 0;
  if (is_large && !allocator.is_checked() && announced_part() == nullptr)
    return allocate_large_in_scope({.size = max<size_t>(bytes, 1), .alignment = alignment, .zeroed = true});
  void* const block = allocate_aligned(alignment, bytes);
  if (block != nullptr) memset(block, 0, bytes);
  return block;
}

void* resize_zeroed(void* block, size_t before, size_t size, const char* call) noexcept {
  const size_t usable = usable_size(block, call);
  if (const size_t scaled_class = class_at(block); scaled_class != 0) {
    if (is_newest(head_of(relative_thread_state(), scaled_class), block)) die_of_misuse(call, block, kAlreadyFree);
    check_start_in_slab(block, call);
  }
  if (before > usable) die_of_misuse(call, block, kShorter);
  if (size > PTRDIFF_MAX) return out_of_memory();
  if (size > usable && size > allocator.table->max_size && may_become_large(block)) {
    allocator.peak.look_as_due();
    void* const resized = lengthened(block, before, size);
    return resized != nullptr ? resized : moved_to_large(block, before, size);
  }
  void* const resized = resize(block, size, call);
  if (resized != nullptr && size > before) memset(static_cast<char*>(resized) + before, 0, size - before);
  return resized;
}

}  // namespace snug
