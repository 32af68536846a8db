// Sampled blocks: what malloc and its family do while the heap profile runs, or has run (profile/heap_profile.h).
// malloc takes small blocks from trays (thread/trays.h), so that only a slow path counts; every other request takes a
// slow path, which comes here.
//
// All functions are thread-safe; the caller holds no lock.
#pragma once

#include <stddef.h>

#include "allocator/allocator.h"

namespace snug {

// For a request of the class, of which the array or the tray is empty, or which was led past it: null if the caller is
// to refill the array. The allocation has been counted.
void* take_as_sampled(size_t size_class, size_t size) noexcept;
// The same for callers of which the blocks come straight from slabs: a sample, or null. `most` is how many blocks the
// caller may then take before it asks again, at least 1.
void* take_sample_before(size_t size_class, size_t size, size_t* most) noexcept;
// Draws whether a large block, which may be null, is a sample, and keeps it if so; returns the block.
void* note_large(void* block, size_t size) noexcept;

// True if the block was one on the pages for samples: it is free now. Else its sample is forgotten, if it was one.
bool release_sampled(void* block, const char* call) noexcept;
// 0 if the address lies on no page for samples. Ends the process if it does, and no live block starts there.
size_t sampled_size(const void* block, const char* call) noexcept;
// Resizes a large block as LargeBlocks::resize() does: a block that has moved or got another length is drawn anew.
void* resize_large_sampled(void* block, size_t size) noexcept;
// A sampled block on a page for samples stays where it is.
void set_sampled_size(const void* block, size_t size) noexcept;

}  // namespace snug
