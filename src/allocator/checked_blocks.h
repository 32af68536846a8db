// Checked blocks: what malloc and its family do with SNUG_CONF=check:on. Each block carries a note of its size and
// origin and a canary (checked/block_note.h); a freed block is filled and waits in the quarantine before the heap gets
// it back. The call that detects misuse reports it in one line and ends the process.
//
// The inline paths do not know of this: no size is in the head table and no page in the window that they see, so that
// each call takes a slow path, which calls these functions.
//
// Blocks of the program's own heaps are checked as malloc's are. A heap that is destroyed ends the lives of its blocks,
// which rest in the quarantine as freed ones do, and keeps its slabs and its name until the last of them has left.
//
// All functions are thread-safe; the allocator is open, and is_checked(). Failure is null with errno ENOMEM. `call`
// names the caller in a report.
#pragma once

#include <stddef.h>

#include "checked/block_note.h"
#include "heap/user_heaps.h"

namespace snug {

inline constexpr size_t kUntoldSize = SIZE_MAX;

// From `heap`, which is null for malloc's own.
void* allocate_checked(size_t size, BlockOrigin origin, UserHeap* heap = scope_heap) noexcept;
void* allocate_checked_zeroed(size_t size, UserHeap* heap = scope_heap) noexcept;
void* allocate_checked_aligned(size_t alignment, size_t size, BlockOrigin origin, UserHeap* heap = scope_heap) noexcept;
// `fits` is the origin that the caller frees; `told` the size that the program passed, or kUntoldSize.
void deallocate_checked(void* block, BlockOrigin fits, size_t told) noexcept;
// The block stays in its heap, unless it shall come into another.
void* resize_checked(void* block, size_t size, const char* call, UserHeap* into = nullptr) noexcept;
// The size that the block was requested with.
size_t checked_size(const void* block, const char* call) noexcept;
// True if the block, of `usable` bytes by its slab, is live; then `*size` is what it was requested with.
bool is_live_checked(const void* block, size_t usable, size_t* size) noexcept;
// Destroys the heap; false, and nothing has happened, if blocks are live and it must be empty then. O(blocks).
bool destroy_checked(UserHeap& heap) noexcept;
// What rests in the quarantine goes back to the heaps. False if nothing did.
bool release_rested() noexcept;
// At the end of the process: checks every block in the quarantine, and leaves it empty.
void end_quarantine() noexcept;

}  // namespace snug
