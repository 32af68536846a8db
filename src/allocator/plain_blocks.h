// Blocks as they are handed out without checks, but not by the inline paths: checked blocks are made of them. The
// functions work with every configuration; the allocator is open. Thread-safe. Failure is null with errno ENOMEM.
#pragma once

#include <stddef.h>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "slab/slab.h"
#include "span/mapping_store.h"

namespace snug {

void* allocate_plain(size_t size);
// A block of a class, when the array of the class is empty. The allocation has been counted.
void* refill_plain(size_t size_class);
// The same while the heap profile runs, for a request of `size` that has not been counted.
void* refill_sampled(size_t size_class, size_t size);
inline void* allocate_plain_of_class(size_t size_class, size_t size) {
  if (allocator.profile.is_on()) [[unlikely]]
    return refill_sampled(size_class, size);
  return allocate_from(head_of(relative_thread_state(), scaled(size_class)),
                       [size_class] { return refill_plain(size_class); });
}
// `alignment` is a power of two. Zeroed if the request says so and is for a large block.
void* allocate_plain_large(LargeRequest request);
// The same, from the heap of the scope that the calling thread is in; or from its part of the real-time region, and
// then neither zeroed nor aligned.
void* allocate_large_in_scope(const LargeRequest& request);
void* allocate_plain_aligned(size_t alignment, size_t size);

// Frees a live block of the heap's for which its class's array has no room, or which is large.
void deallocate_plain_slow(void* block, size_t scaled_class);
// For an address that no slab covers: frees the live large block that starts there, or ends the process if there is
// none. `call` names the caller in that report.
void deallocate_large(void* block, const char* call);
// The same where the heap profile may have been on: frees a live block, sampled or large, that no slab covers.
void deallocate_outside_slabs(void* block, const char* call);
// A large block at its new size, as LargeBlocks::resize(), but a sampled one stays one.
void* resize_large(void* block, size_t size);

// The scaled class of the slab that covers the address, or 0, as class_at(); but also in a checked process, where the
// inline paths see no window.
inline size_t plain_class_at(const void* block) {
  return allocator.page_map.contains(block) ? allocator.page_map.class_at(allocator.page_map.index_of(block)) : 0;
}

// In a process that is to report: notes what the block, which may be null or of no class, was asked for.
void note_request(void* block, size_t size);
// Returns the block, noted if the process is to report.
inline void* noted(void* block, size_t size) {
  if (allocator.peak.is_wanted()) [[unlikely]]
    note_request(block, size);
  return block;
}

// Ends the process if the address, on a page of the slab, is not the start of one of its blocks.
void check_start(const Slab& slab, const void* block, const char* call);
// The same for an address on a page of one of malloc's slabs.
inline void check_start_in_slab(const void* block, const char* call) {
  check_start(*allocator.page_map.entry_at(block).record<Slab>(), block, call);
}

// Frees a live block of the heap's.
inline void deallocate_plain(void* block) {
  const size_t scaled_class = plain_class_at(block);
  if (!push(relative_thread_state(), scaled_class, block)) deallocate_plain_slow(block, scaled_class);
}

}  // namespace snug
