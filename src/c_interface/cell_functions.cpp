// The C functions of snug/cell_heap_c.h that need no OS. Nothing here may make the compiler call a libc function but
// memcpy: tests/unit/cell looks at the archive's symbols.
#include "base/bits.h"
#include "base/compiler.h"
#include "base/in_place.h"
#include "cell/embedded_heap.h"
#include "snug/cell_heap_c.h"

constinit snug::TellThenTrap::Handler* snug::TellThenTrap::handler = nullptr;

// A type that is incomplete in C.
struct snug_cell_heap : snug::EmbeddedHeap {};

namespace {

constexpr size_t kRecord =
    snug::round_up(sizeof(snug_cell_heap), alignof(snug_cell_heap)) + alignof(snug_cell_heap) - 1;

}  // namespace

extern "C" {

SNUG_EXPORT size_t snug_cell_heap_record() { return kRecord; }

SNUG_EXPORT snug_cell_heap* snug_cell_heap_create(void* region, size_t bytes) {
  if (region == nullptr || bytes < kRecord) return nullptr;
  const uintptr_t start = snug::address_of(region);
  if (start + bytes < bytes) return nullptr;
  const uintptr_t record = snug::round_up(start, alignof(snug_cell_heap));
  auto* const heap = new (snug::InPlace{snug::at<void>(record)}) snug_cell_heap;
  const uintptr_t cells = record + sizeof(snug_cell_heap);
  return heap->add_region(snug::at<void>(cells), start + bytes - cells) == nullptr ? heap : nullptr;
}

SNUG_EXPORT const char* snug_cell_heap_add(snug_cell_heap* heap, void* region, size_t bytes) {
  return heap->add_region(region, bytes);
}

SNUG_EXPORT const char* snug_cell_heap_remove(snug_cell_heap* heap, void* region) {
  return heap->remove_region(region);
}

SNUG_EXPORT void* snug_cell_malloc(snug_cell_heap* heap, size_t bytes) { return heap->allocate(bytes); }

SNUG_EXPORT void* snug_cell_aligned_alloc(snug_cell_heap* heap, size_t alignment, size_t bytes) {
  return heap->allocate_aligned(alignment, bytes);
}

SNUG_EXPORT void* snug_cell_realloc(snug_cell_heap* heap, void* block, size_t bytes) {
  return heap->resize(block, bytes);
}

SNUG_EXPORT int snug_cell_resize(snug_cell_heap* heap, void* block, size_t bytes) {
  return heap->resize_in_place(block, bytes) ? 1 : 0;
}

SNUG_EXPORT void snug_cell_free(snug_cell_heap* heap, void* block) { heap->deallocate(block); }

SNUG_EXPORT size_t snug_cell_usable_size(const void* block) { return snug::EmbeddedHeap::usable_size(block); }

SNUG_EXPORT void snug_cell_get_stats(const snug_cell_heap* heap, snug_cell_stats* stats) {
  const snug::CellStatistics now = heap->statistics();
  stats->bytes_total = now.bytes_total;
  stats->bytes_free = now.bytes_free;
  stats->bytes_least_free = now.bytes_least_free;
  stats->bytes_largest = now.bytes_largest;
  stats->cells_used = now.cells_used;
  stats->cells_free = now.cells_free;
  stats->regions = now.regions;
}

SNUG_EXPORT void snug_cell_walk(const snug_cell_heap* heap,
                                void (*visit)(void* context, const void* block, size_t bytes, int used),
                                void* context) {
  heap->walk([&](const snug::CellView& cell) {
    visit(context, cell.block, cell.bytes, cell.use == snug::CellUse::kUsed ? 1 : 0);
  });
}

SNUG_EXPORT const char* snug_cell_check(const snug_cell_heap* heap) { return heap->check(); }

SNUG_EXPORT void snug_cell_on_misuse(snug_cell_misuse_handler* handler) { snug::TellThenTrap::handler = handler; }

}  // extern "C"
