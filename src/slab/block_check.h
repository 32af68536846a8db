// What an address must be that comes back to its slab; what is none ends the process.
//
// Addresses in the caches have been looked at when they came, but for small blocks that were deleted with a size.
#pragma once

#include <cstddef>

#include "base/compiler.h"
#include "size/class_table.h"
#include "slab/slab.h"
#include "span/window.h"

namespace snug {

[[noreturn]] SNUG_COLD void die_of_stranger(const Window& window, const void* block);
// For an address that is no block of its slab, or none that was ever handed out.
[[noreturn]] SNUG_COLD void die_of_stray(const Slab& slab, const void* block);
// One of the blocks from `slot` on is free already.
[[noreturn]] SNUG_COLD void die_of_double_free(const Slab& slab, size_t slot);

// The tag of the page that the block lies on, which belongs to a slab of the class.
SNUG_ALWAYS_INLINE PageTag tag_of_block(const Window& window, size_t size_class, const void* block) {
  const size_t page = window.index_of(block);
  if (page >= window.page_limit() || window.class_at(page) != scaled(size_class)) [[unlikely]]
    die_of_stranger(window, block);
  return window.tag({static_cast<uint32_t>(page)});
}

SNUG_ALWAYS_INLINE size_t slot_of_block(const Slab& slab, const SizeClass& sizes, const void* block) {
  const size_t offset = static_cast<size_t>(static_cast<const char*>(block) - slab.start);
  const size_t slot = sizes.slot_of(offset);
  if (slot * sizes.block_size != offset || slot >= slab.carved) [[unlikely]]
    die_of_stray(slab, block);
  return slot;
}

}  // namespace snug
