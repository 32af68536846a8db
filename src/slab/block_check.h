// Checks each address that comes back to a slab: one that is no block of it, or was never handed out, ends the process.
//
// free() has checked the page of each address in a cache already, but not for blocks of up to 64 KiB that were deleted
// with a size.
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "size/class_table.h"
#include "slab/slab.h"
#include "span/page_map.h"

namespace snug {

// For a foreign pointer, or one into a page that belongs to no slab, or to a slab of another class.
[[noreturn]] SNUG_COLD void die_of_foreign(const PageMap& page_map, const void* address);
// For an address within a slab that is no block of it, or a block that was never handed out.
[[noreturn]] SNUG_COLD void die_of_no_block(const Slab& slab, const SizeClass& sizes, const void* address);
// One of the blocks from `slot` on is free already.
[[noreturn]] SNUG_COLD void die_of_double_free(const Slab& slab, size_t slot);

// The entry of the page that the block lies on. Ends the process if that page belongs to no slab of the class.
SNUG_ALWAYS_INLINE PageEntry entry_of_block(const PageMap& page_map, size_t size_class, const void* block) {
  const size_t page = page_map.index_of(block);
  if (page >= page_map.page_limit() || page_map.class_at(page) != scaled(size_class)) [[unlikely]]
    die_of_foreign(page_map, block);
  return page_map.entry({static_cast<uint32_t>(page)});
}

// The slot of a block `offset` bytes from the start of its slab, of which `carved` blocks at most were handed out.
SNUG_ALWAYS_INLINE size_t slot_at(const Slab& slab, const SizeClass& sizes, size_t offset, size_t carved) {
  const size_t slot = sizes.slot_of(offset);
  if (slot * sizes.block_size != offset || slot >= carved) [[unlikely]]
    die_of_no_block(slab, sizes, slab.start + offset);
  return slot;
}

SNUG_ALWAYS_INLINE size_t slot_of_block(const Slab& slab, const SizeClass& sizes, const void* block) {
  return slot_at(slab, sizes, address_of(block) - address_of(slab.start), slab.carved);
}

}  // namespace snug
