// Checked blocks (SNUG_CONF=check:on): what malloc and its family do then. Each block carries a note of its size and
// origin and a canary (checked/block_note.h); a freed one is filled and rests in the quarantine before the heap has it
// back. What is wrong ends the process in the call that shows it, by one line.
//
// The inline paths know nothing of this: no size is in the head table and no page in the window that they see, so that
// each call takes a slow path, which comes here.
//
// All functions are thread-safe; the store is open, and is_checked(). Failure is null with errno ENOMEM. `call` names
// the caller in a report.
#pragma once

#include <cstddef>

#include "checked/block_note.h"

namespace snug {

inline constexpr size_t kUntoldSize = SIZE_MAX;

void* allocate_checked(size_t size, BlockOrigin origin) noexcept;
void* allocate_checked_zeroed(size_t size) noexcept;
void* allocate_checked_aligned(size_t alignment, size_t size, BlockOrigin origin) noexcept;
// `fits` is the origin that the caller frees; `told` the size that it was told, or kUntoldSize.
void release_checked(void* block, BlockOrigin fits, size_t told) noexcept;
void* resize_checked(void* block, size_t size, const char* call) noexcept;
// What the block was asked for with.
size_t checked_size(const void* block, const char* call) noexcept;
// At the end of the process: looks the quarantine through, and leaves it empty.
void end_quarantine() noexcept;

}  // namespace snug
