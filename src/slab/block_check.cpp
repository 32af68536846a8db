#include "slab/block_check.h"

#include "base/fatal.h"

namespace snug {
namespace {

constexpr const char* kAlreadyFree = "block is already free";

}  // namespace

void die_of_stranger(const Window& window, const void* block) {
  if (!window.contains(block)) die_of_misuse("delete", block, "not a block of this heap");
  // A slab that has gone had all its blocks free.
  if (window.class_at(window.index_of(block)) == 0) die_of_misuse("free", block, kAlreadyFree);
  die_of_misuse("free", block, "deleted with a size that is not the allocation's, or already free");
}

void die_of_stray(const Slab& slab, const void* block) {
  const size_t offset = static_cast<size_t>(static_cast<const char*>(block) - slab.start);
  const bool is_block = offset % slab.block_size == 0 && slab.slot_of(offset) < slab.capacity;
  die_of_misuse("free", block, is_block ? "block was never handed out" : "points inside a block");
}

void die_of_double_free(const Slab& slab, size_t slot) {
  while (slot + 1 < slab.carved && !tests_bit(slab.free, slot)) ++slot;
  die_of_misuse("free", slab.block(slot), kAlreadyFree);
}

}  // namespace snug
