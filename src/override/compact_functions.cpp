// The C functions of snug/compact_heap_c.h.
#include "snug/compact_heap_c.h"

#include <atomic>
#include <cerrno>
#include <new>

#include "base/fatal.h"
#include "compact/compact_fit.h"
#include "heap/allocator.h"
#include "heap/store.h"

using namespace snug;

// What C knows by name only. One of the two is used.
struct snug_compact_heap {
  explicit snug_compact_heap(bool is_direct, bool is_in_region) : direct(is_direct), in_region(is_in_region) {}
  ~snug_compact_heap() {}

  const bool direct;
  const bool in_region;
  union {
    CompactFit fit;
    BlockPages pages;
  };
};

namespace {

constexpr size_t kBytesAHandle = 64;  // of a region, if nobody says

constexpr const BlockMap* kMaps[] = {&kFineMap, &kCf16Map, &kCf32Map};

void* allocate_record(size_t bytes) { return allocate_aligned(kCacheLine, bytes); }

struct Memory {
  snug_compact_heap* heap = nullptr;
  void* table = nullptr;  // of handles
  size_t handles = 0;
  char* pages = nullptr;
  size_t page_bytes = 0;
};

// What the heap and its table leave of the region, from the next page on.
Memory cut_region(const snug_compact_options& options) {
  Memory memory;
  const uintptr_t end = address_of(options.region) + options.region_bytes;
  const uintptr_t heap = round_up(address_of(options.region), alignof(snug_compact_heap));
  const uintptr_t table = heap + sizeof(snug_compact_heap);
  memory.handles = options.handles != 0 ? options.handles : options.region_bytes / kBytesAHandle;
  memory.handles = memory.handles + 1 < HandleTable::kMostSlots ? memory.handles + 1 : HandleTable::kMostSlots;
  if (options.direct) memory.handles = 0;
  const uintptr_t pages = round_up(table + HandleTable::bytes_for(memory.handles), kPageSize);
  if (end < address_of(options.region) || pages >= end || end - pages < 2 * kPageSize) return {};
  memory.heap = at<snug_compact_heap>(heap);
  memory.table = at<void>(table);
  memory.pages = at<char>(pages);
  memory.page_bytes = end - pages;
  return memory;
}

snug_compact_heap* fail(int error) {
  errno = error;
  return nullptr;
}

uint16_t next_salt() {
  // The bits turned round: the salts of the first heaps differ in what the numbers of a slot's first blocks do not
  // have.
  static constinit std::atomic<uint32_t> heaps{0};
  uint32_t number = heaps.fetch_add(1, std::memory_order_relaxed);
  uint16_t salt = 0;
  for (unsigned bit = 0; bit < 15; ++bit, number >>= 1) salt = static_cast<uint16_t>(salt << 1 | (number & 1));
  return salt;
}

snug_compact_heap* create(const snug_compact_options& options) {
  const bool in_region = options.region != nullptr;
  if (static_cast<unsigned>(options.map) > SNUG_COMPACT_CF32 || (options.direct != 0 && options.direct != 1) ||
      (in_region ? options.region_bytes == 0 : options.region_bytes != 0) || options.handles >= HandleTable::kMostSlots)
    return fail(EINVAL);
  const BlockMap& map = *kMaps[options.map];
  Memory memory;
  if (in_region) {
    memory = cut_region(options);
  } else if (store.ensure_open()) {
    memory.heap = static_cast<snug_compact_heap*>(allocate_record(sizeof(snug_compact_heap)));
  }
  if (memory.heap == nullptr) return fail(ENOMEM);
  auto* const heap = ::new (memory.heap) snug_compact_heap(options.direct != 0, in_region);
  const PageSource source = in_region ? PageSource(memory.pages, memory.page_bytes)
                                      : PageSource(store.spans, store.large, {allocate_record, release});
  if (options.direct) {
    ::new (&heap->pages) BlockPages(map, source, false);
    return heap;
  }
  HandleTable handles(next_salt());
  if (in_region) {
    handles.open(memory.table, memory.handles);
  } else if (!handles.open(options.handles == 0 ? HandleTable::kMostSlots : options.handles + 1)) {
    release(heap);
    return fail(ENOMEM);
  }
  ::new (&heap->fit) CompactFit(map, source, handles, options.not_full == 0 ? 1 : options.not_full,
                                options.increment == 0 ? CompactFit::kIncrement : options.increment);
  return heap;
}

CompactFit& fit(snug_compact_heap* heap, const char* call) {
  if (heap->direct) die_of_misuse(call, heap, "the heap is direct, and has no handles");
  return heap->fit;
}

BlockPages& direct(snug_compact_heap* heap, const char* call) {
  if (!heap->direct) die_of_misuse(call, heap, "the heap is not direct, and has handles");
  return heap->pages;
}

// 0: no power of two, or too much.
size_t checked_alignment(size_t alignment) {
  if (alignment == 0) return 1;
  return (alignment & (alignment - 1)) == 0 && alignment <= PTRDIFF_MAX / 2 ? alignment : 0;
}

}  // namespace

extern "C" {

SNUG_EXPORT snug_compact_heap* snug_compact_create(const snug_compact_options* options) {
  return create(options == nullptr ? snug_compact_options{} : *options);
}

SNUG_EXPORT void snug_compact_destroy(snug_compact_heap* heap) {
  if (heap == nullptr) return;
  if (heap->direct) {
    heap->pages.release_all();
  } else {
    if (heap->fit.pins() != 0) die_of_misuse("snug_compact_destroy", heap, "blocks of the heap are pinned");
    heap->fit.close();
  }
  if (!heap->in_region) release(heap);
}

SNUG_EXPORT snug_handle snug_compact_alloc(snug_compact_heap* heap, size_t bytes, size_t alignment) {
  alignment = checked_alignment(alignment);
  return alignment == 0 || bytes > PTRDIFF_MAX ? 0 : fit(heap, "snug_compact_alloc").allocate(bytes, alignment);
}

SNUG_EXPORT snug_handle snug_compact_alloc_relocated(snug_compact_heap* heap, size_t bytes, size_t alignment,
                                                     void (*relocate)(void* from, void* to)) {
  alignment = checked_alignment(alignment);
  if (alignment == 0 || bytes > PTRDIFF_MAX || relocate == nullptr) return 0;
  return fit(heap, "snug_compact_alloc_relocated").allocate(bytes, alignment, relocate);
}

SNUG_EXPORT void snug_compact_free(snug_compact_heap* heap, snug_handle handle) {
  if (handle != 0) fit(heap, "snug_compact_free").free(handle);
}

SNUG_EXPORT int snug_compact_resize(snug_compact_heap* heap, snug_handle handle, size_t bytes, size_t alignment) {
  alignment = checked_alignment(alignment);
  if (alignment == 0 || bytes > PTRDIFF_MAX) return -1;
  return fit(heap, "snug_compact_resize").resize(handle, bytes, alignment) ? 0 : -1;
}

SNUG_EXPORT void* snug_compact_deref(snug_compact_heap* heap, snug_handle handle) {
  return fit(heap, "snug_compact_deref").address(handle, "snug_compact_deref");
}

SNUG_EXPORT void* snug_compact_try_deref(snug_compact_heap* heap, snug_handle handle) {
  return fit(heap, "snug_compact_try_deref").find(handle);
}

SNUG_EXPORT size_t snug_compact_usable_size(snug_compact_heap* heap, snug_handle handle) {
  return fit(heap, "snug_compact_usable_size").usable(handle);
}

SNUG_EXPORT void* snug_compact_pin(snug_compact_heap* heap, snug_handle handle) {
  return fit(heap, "snug_compact_pin").pin(handle);
}

SNUG_EXPORT void snug_compact_unpin(snug_compact_heap* heap, snug_handle handle) {
  fit(heap, "snug_compact_unpin").unpin(handle);
}

SNUG_EXPORT void snug_compact_set_not_full(snug_compact_heap* heap, size_t not_full) {
  fit(heap, "snug_compact_set_not_full").set_bound(not_full == 0 ? 1 : not_full);
}

SNUG_EXPORT void snug_compact_set_not_full_of(snug_compact_heap* heap, size_t bytes, size_t not_full) {
  fit(heap, "snug_compact_set_not_full_of").set_bound_of(bytes, not_full == 0 ? 1 : not_full);
}

SNUG_EXPORT void snug_compact_set_increment(snug_compact_heap* heap, size_t increment) {
  fit(heap, "snug_compact_set_increment").set_increment(increment == 0 ? CompactFit::kIncrement : increment);
}

SNUG_EXPORT int snug_compact_step(snug_compact_heap* heap, const snug_compact_budget* budget) {
  const CompactBudget limit = budget == nullptr ? CompactBudget() : CompactBudget(budget->nanoseconds, budget->bytes);
  return fit(heap, "snug_compact_step").step(limit) ? 1 : 0;
}

SNUG_EXPORT void snug_compact_settle(snug_compact_heap* heap) { fit(heap, "snug_compact_settle").settle(); }

SNUG_EXPORT size_t snug_compact_trim(snug_compact_heap* heap) { return fit(heap, "snug_compact_trim").trim(); }

SNUG_EXPORT void* snug_compact_direct_alloc(snug_compact_heap* heap, size_t bytes, size_t alignment) {
  alignment = checked_alignment(alignment);
  if (alignment == 0 || bytes > PTRDIFF_MAX) return nullptr;
  const BlockPages::Place place = direct(heap, "snug_compact_direct_alloc").take(bytes, alignment);
  return place.page == nullptr ? nullptr : place.block();
}

SNUG_EXPORT void snug_compact_direct_free(snug_compact_heap* heap, void* block) {
  if (block == nullptr) return;
  BlockPages& pages = direct(heap, "snug_compact_direct_free");
  const BlockPages::Place place = pages.find(block);
  if (place.page == nullptr)
    die_of_misuse("snug_compact_direct_free", block, "not a block of this heap, or free already");
  pages.give(place);
}

SNUG_EXPORT void snug_compact_get_stats(const snug_compact_heap* heap, snug_compact_stats* stats) {
  const BlockPages& pages = heap->direct ? heap->pages : heap->fit.pages();
  const BlockPages::Totals totals = pages.totals();
  *stats = {};
  stats->blocks = totals.blocks;
  stats->bytes_blocks = totals.bytes_blocks;
  stats->bytes_not_full = totals.bytes_free;
  stats->bytes_bound = SIZE_MAX;
  stats->bytes_tails = totals.bytes_tails;
  stats->bytes_large = totals.bytes_large;
  stats->bytes_spare = totals.bytes_spare;
  stats->bytes_records = totals.bytes_records + sizeof *heap;
  stats->pages = totals.pages;
  stats->rows_not_full = totals.rows_open + totals.rows_held;
  stats->rows_pinned = totals.rows_held;
  if (heap->direct) return;
  const CompactFit& fit = heap->fit;
  stats->bytes_bound = fit.bytes_bound();
  stats->bytes_handles = fit.handles().bytes();
  stats->pins = fit.pins();
  stats->moves_in_flight = fit.is_moving() ? 1 : 0;
  stats->moves = fit.moves().finished;
  stats->bytes_moved = fit.moves().bytes;
  stats->moves_aborted = fit.moves().aborted;
}

SNUG_EXPORT void snug_compact_walk(snug_compact_heap* heap,
                                   void (*visit)(void* context, snug_handle handle, void* block, size_t bytes),
                                   void* context) {
  CompactFit& compact = fit(heap, "snug_compact_walk");
  compact.settle();
  compact.pages().for_each_page([&](const CompactPage& page) {
    for (size_t i = 0; i < page.blocks; ++i)
      if (page.holds(i)) visit(context, compact.handles().handle(page.owner(i).slot()), page.block_at(i), page.block);
  });
}

SNUG_EXPORT const char* snug_compact_check(const snug_compact_heap* heap) {
  return heap->direct ? heap->pages.check() : heap->fit.check();
}

SNUG_EXPORT void snug_compact_get_view(snug_compact_heap* heap, snug_compact_view* view) {
  const HandleTable& handles = fit(heap, "snug_compact_get_view").handles();
  *view = {handles.slots(), handles.slot_limit()};
}

}  // extern "C"
