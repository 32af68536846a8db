// The malloc family: each function calls the watched allocator's, and records the call.
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>

#include "recorder/allocation.h"
#include "recorder/exported.h"

namespace snug::recorder {

namespace {

// The product, SIZE_MAX if it overflows: such a call is refused.
std::size_t product(std::size_t count, std::size_t bytes) {
  std::size_t whole = 0;
  return __builtin_mul_overflow(count, bytes, &whole) ? SIZE_MAX : whole;
}

// Reallocates a block from before there was an allocator: moves it to the allocator if there is one now, or to another
// early block.
void* reallocate_early(void* block, std::size_t size) {
  const bool is_early = !has_watched();
  void* const moved = is_early ? early_blocks.allocate(size) : watched.malloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(size, early_blocks.size_of(block)));
  early_blocks.free(block);
  return moved;
}

// Records two events, since another thread may get the old block's address before the call has returned.
template <class Call>
void* reallocate(Operation operation, void* block, std::size_t size, Call call) {
  if (!has_watched()) [[unlikely]]
    return block == nullptr ? early_blocks.allocate(size) : reallocate_early(block, size);
  const bool is_early = early_blocks.owns(block);
  if (!is_early && large_block_filter.may_begin_at(block)) [[unlikely]]
    tell_touched_pages(block);
  if (this_thread.depth != 0) [[unlikely]]
    tell_gone_inside(block);
  else
    tell(kReallocBegins, reinterpret_cast<std::uintptr_t>(block), is_early ? 0 : size_to_tell(block));
  void* moved;
  {
    const InsideAllocator inside;
    moved = is_early ? reallocate_early(block, size) : call();
  }
  tell_allocation(operation, moved, size, 0, refused_if_null(moved));
  const bool stays = moved == nullptr && size != 0;
  note_if_large(stays ? block : moved, stays ? kLeastLookedAt : size);
  answer_if_asked();
  return moved;
}

}  // namespace

extern "C" {

RECORDER_EXPORT void* malloc(std::size_t size) {
  return allocate(Operation::kMalloc, size, 0, [=] { return watched.malloc(size); });
}

RECORDER_EXPORT void* calloc(std::size_t count, std::size_t size) {
  return allocate(Operation::kCalloc, product(count, size), 0, [=] { return watched.calloc(count, size); });
}

RECORDER_EXPORT void* realloc(void* block, std::size_t size) {
  return reallocate(Operation::kRealloc, block, size, [=] { return watched.realloc(block, size); });
}

RECORDER_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) {
  const std::size_t whole = product(count, size);
  if (whole == SIZE_MAX && early_blocks.owns(block)) {
    errno = ENOMEM;
    return nullptr;
  }
  return reallocate(Operation::kReallocarray, block, whole, [=] { return watched.reallocarray(block, count, size); });
}

RECORDER_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  return allocate(Operation::kMemalign, size, alignment, [=] { return watched.memalign(alignment, size); });
}

RECORDER_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return allocate(Operation::kAlignedAlloc, size, alignment, [=] { return watched.aligned_alloc(alignment, size); });
}

RECORDER_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  int error = 0;
  void* found = nullptr;
  void* const block = allocate(Operation::kPosixMemalign, size, alignment, [&] {
    error = watched.posix_memalign(&found, alignment, size);
    return error == 0 ? found : nullptr;
  });
  if (block == nullptr) return error != 0 ? error : ENOMEM;
  *result = block;
  return 0;
}

RECORDER_EXPORT void* valloc(std::size_t size) {
  return allocate(Operation::kValloc, size, 0, [=] { return watched.valloc(size); });
}

RECORDER_EXPORT void* pvalloc(std::size_t size) {
  return allocate(Operation::kPvalloc, size, 0, [=] { return watched.pvalloc(size); });
}

RECORDER_EXPORT void free(void* block) { free_block(Operation::kFree, block); }

// The functions of C23. For an allocator that does not have them free() is called.
RECORDER_EXPORT void free_sized(void* block, std::size_t size) { free_block(Operation::kFreeSized, block, size); }
RECORDER_EXPORT void free_aligned_sized(void* block, std::size_t alignment, std::size_t size) {
  free_block(Operation::kFreeAlignedSized, block, size, alignment);
}

RECORDER_EXPORT std::size_t malloc_usable_size(void* block) {
  if (early_blocks.owns(block)) return early_blocks.size_of(block);
  if (!has_watched()) return 0;
  std::size_t size;
  {
    const InsideAllocator inside;
    size = watched.usable_size(block);
  }
  tell(Operation::kUsableSize, block, size);
  return size;
}

RECORDER_EXPORT int malloc_trim(std::size_t kept) {
  if (!has_watched()) return 0;
  tell(Operation::kTrim, nullptr, kept);
  const InsideAllocator inside;
  return watched.trim(kept);
}

}  // extern "C"

}  // namespace snug::recorder
