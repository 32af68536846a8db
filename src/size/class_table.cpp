// Proofs over whole domains, kept out of the header because they cost the compiler seconds.
#include "size/class_table.h"

namespace snug {
namespace {

// Every request finds the smallest class that holds it.
constexpr bool table_is_tight(const ClassTable& table, size_t first, size_t last) {
  for (size_t size = first; size <= last; ++size) {
    const size_t c = table.class_of(size);
    if (table.classes[c].block_size < size || table.classes[c - 1].block_size >= size) return false;
  }
  return true;
}

// Multiplication by the reciprocal finds the slot of every block of every class that any map may have.
constexpr bool slots_are_exact(const SizeClass& one) {
  if (one.blocks_per_slab == 0 || one.blocks_per_slab > kMaxBlocksPerSlab || one.pages_per_slab > kPagesPerChunk)
    return false;
  for (size_t slot = 0; slot < one.blocks_per_slab; ++slot)
    if (one.slot_of(slot * one.block_size) != slot) return false;
  return true;
}

constexpr bool slots_are_exact_between(size_t first, size_t last) {
  for (size_t size = first; size <= last; size += step_at(size + 1))
    if (!slots_are_exact(make_size_class(size, 1))) return false;
  return true;
}

template <class Map, size_t First, size_t Last>
constexpr bool proved() {
  constexpr size_t kPart = 16384;
  if constexpr (First > Last) {
    return true;
  } else {
    constexpr size_t kEnd = First + kPart - 1 < Last ? First + kPart - 1 : Last;
    static_assert(is_tight_between<Map>(First, kEnd));
    return proved<Map, kEnd + 1, Last>();
  }
}

static_assert(proved<DefaultSizeClassMap, 1, DefaultSizeClassMap::kMaxSize>());
static_assert(proved<DenseSizeClassMap, 1, DenseSizeClassMap::kMaxSize>());
static_assert(table_is_tight(kRoomyTable, 1, 16384) &&
              table_is_tight(kRoomyTable, kRoomyTable.max_size - 16383, kRoomyTable.max_size));
static_assert(table_is_tight(kDenseTable, 1, 16384) &&
              table_is_tight(kDenseTable, kDenseTable.max_size - 16383, kDenseTable.max_size));
static_assert(slots_are_exact_between(kSmallStep, kLargestSizeMax));

}  // namespace
}  // namespace snug
