#include "slab/block_check.h"

#include "base/fatal.h"

namespace snug {

void die_of_foreign(const PageMap& page_map, const void* address) {
  if (!page_map.contains(address)) die_of_misuse("delete", address, kForeign);
  // A slab that has gone had all its blocks free.
  if (page_map.class_at(page_map.index_of(address)) == 0) die_of_misuse("free", address, kAlreadyFree);
  die_of_misuse("free", address, "deleted with a size that is not the allocation's, or already free");
}

void die_of_no_block(const Slab& slab, const SizeClass& sizes, const void* address) {
  die_of_misuse("free", address, slab.has_block_at(sizes, address) ? kNeverHandedOut : kInterior);
}

void die_of_double_free(const Slab& slab, size_t slot) {
  while (slot + 1 < slab.carved && !tests_bit(slab.free_bits(), slot)) ++slot;
  die_of_misuse("free", slab.block(slot), kAlreadyFree);
}

}  // namespace snug
