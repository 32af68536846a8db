// The C functions of snug/compact_heap_c.h.
#include <errno.h>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "allocator/pressure.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/in_place.h"
#include "c_interface/c_functions.h"
#include "compact/c_heap.h"
#include "heap/user_heaps.h"
#include "os/clock.h"
#include "snug/compact_heap_c.h"

using namespace snug;

namespace {

using Kind = snug_compact_heap::Kind;

void* allocate_record(size_t bytes) {
  const ScopePause pause;     // the compacting heap may outlive the heap of the thread's scope
  const PressurePause quiet;  // its locks are held, and a callback may free blocks of it
  return allocate_aligned(kCacheLine, bytes);
}

snug_compact_heap* create(const snug_compact_options& options) {
  if (is_wrong(options)) return refuse(EINVAL);
  const bool in_region = options.region != nullptr;
  CompactMemory memory;
  if (in_region) {
    memory = cut_region(options);
  } else if (allocator.ensure_open()) {
    memory.heap = static_cast<snug_compact_heap*>(allocate_record(sizeof(snug_compact_heap)));
  }
  if (memory.heap == nullptr) return refuse(ENOMEM);
  auto* const heap = ::new (InPlace{memory.heap}) snug_compact_heap(kind_of(options), in_region);
  const PageSource source = in_region ? PageSource(memory.pages, memory.page_bytes)
                                      : PageSource(allocator.spans, allocator.mappings, {allocate_record, deallocate});
  if (!open_heap(*heap, options, source, memory)) {
    if (!in_region) deallocate(heap);
    return refuse(ENOMEM);
  }
  if (heap->kind == Kind::kDirect) return heap;
  snug_compact_set_not_full(heap, options.not_full);
  snug_compact_set_increment(heap, options.increment);
  return heap;
}

// Ends the process if the heap is direct, and so has no handles; `call` names the caller in that report.
void expect_handles(const snug_compact_heap* heap, const char* call) {
  if (heap->kind == Kind::kDirect) [[unlikely]]
    die_of_misuse(call, heap, "the heap is direct, and has no handles");
}

// The heap that the handle belongs to: the only one, or a core's.
CompactFit& fit_of(snug_compact_heap* heap, snug_handle handle, const char* call) {
  if (heap->kind == Kind::kOne) [[likely]]
    return heap->fit;
  expect_handles(heap, call);
  return heap->cores.heap_of(handle);
}

// The only heap, or the one of all cores' that has the readers.
CompactFit& fit(snug_compact_heap* heap, const char* call) { return fit_of(heap, 0, call); }

// Calls use(CompactFit&) or use(CoreHeaps&).
template <class Use>
auto with(snug_compact_heap* heap, const char* call, Use use) {
  if (heap->kind == Kind::kOne) [[likely]]
    return use(heap->fit);
  expect_handles(heap, call);
  return use(heap->cores);
}

// Calls use(CompactFit&) for each heap that exists.
template <class Use>
void for_each_fit(snug_compact_heap* heap, const char* call, Use use) {
  if (heap->kind == Kind::kOne) return use(heap->fit);
  expect_handles(heap, call);
  heap->cores.for_each(use);
}

BlockPages& direct(snug_compact_heap* heap, const char* call) {
  if (heap->kind != Kind::kDirect) die_of_misuse(call, heap, "the heap is not direct, and has handles");
  return heap->pages;
}

// C code sees only the first word of a reader.
static_assert(sizeof(snug_compact_reader) == sizeof(uint64_t) && sizeof(CompactFit::Reader::since) == sizeof(uint64_t));

snug_compact_reader* as_public(CompactFit::Reader* reader) { return reinterpret_cast<snug_compact_reader*>(reader); }
CompactFit::Reader* as_reader(snug_compact_reader* reader) { return reinterpret_cast<CompactFit::Reader*>(reader); }

// The alignment, 1 for 0; returns 0 if it is no power of two, or too large.
size_t checked_alignment(size_t alignment) {
  if (alignment == 0) return 1;
  return is_power_of_two(alignment) && alignment <= PTRDIFF_MAX / 2 ? alignment : 0;
}

}  // namespace

extern "C" {

SNUG_EXPORT snug_compact_heap* snug_compact_create(const snug_compact_options* options) {
  return create(options == nullptr ? snug_compact_options{} : *options);
}

SNUG_EXPORT void snug_compact_destroy(snug_compact_heap* heap) {
  if (heap == nullptr) return;
  if (heap->kind == Kind::kDirect) {
    heap->pages.release_all();
  } else {
    with(heap, "snug_compact_destroy", [heap](auto& heaps) {
      if (heaps.totals().pages.pins != 0) die_of_misuse("snug_compact_destroy", heap, "blocks of the heap are pinned");
      heaps.close();
    });
  }
  if (!heap->in_region) deallocate(heap);
}

SNUG_EXPORT snug_handle snug_compact_alloc(snug_compact_heap* heap, size_t bytes, size_t alignment) {
  alignment = checked_alignment(alignment);
  if (alignment == 0 || bytes > PTRDIFF_MAX) return 0;
  return with(heap, "snug_compact_alloc", [=](auto& heaps) { return heaps.allocate(bytes, alignment); });
}

SNUG_EXPORT snug_handle snug_compact_alloc_relocated(snug_compact_heap* heap, size_t bytes, size_t alignment,
                                                     void (*relocate)(void* from, void* to)) {
  alignment = checked_alignment(alignment);
  if (alignment == 0 || bytes > PTRDIFF_MAX || relocate == nullptr) return 0;
  return with(heap, "snug_compact_alloc_relocated",
              [=](auto& heaps) { return heaps.allocate(bytes, alignment, relocate); });
}

SNUG_EXPORT void snug_compact_free(snug_compact_heap* heap, snug_handle handle) {
  if (handle != 0) fit_of(heap, handle, "snug_compact_free").free(handle);
}

SNUG_EXPORT int snug_compact_resize(snug_compact_heap* heap, snug_handle handle, size_t bytes, size_t alignment) {
  alignment = checked_alignment(alignment);
  if (alignment == 0 || bytes > PTRDIFF_MAX) return -1;
  return fit_of(heap, handle, "snug_compact_resize").resize(handle, bytes, alignment) ? 0 : -1;
}

SNUG_EXPORT void* snug_compact_deref(snug_compact_heap* heap, snug_handle handle) {
  return fit_of(heap, handle, "snug_compact_deref").address(handle, "snug_compact_deref");
}

SNUG_EXPORT void* snug_compact_try_deref(snug_compact_heap* heap, snug_handle handle) {
  return fit_of(heap, handle, "snug_compact_try_deref").find(handle);
}

SNUG_EXPORT size_t snug_compact_usable_size(snug_compact_heap* heap, snug_handle handle) {
  return fit_of(heap, handle, "snug_compact_usable_size").usable(handle);
}

SNUG_EXPORT void* snug_compact_pin(snug_compact_heap* heap, snug_handle handle) {
  return fit_of(heap, handle, "snug_compact_pin").pin(handle);
}

SNUG_EXPORT void snug_compact_unpin(snug_compact_heap* heap, snug_handle handle) {
  fit_of(heap, handle, "snug_compact_unpin").unpin(handle);
}

SNUG_EXPORT void snug_compact_set_not_full(snug_compact_heap* heap, size_t not_full) {
  with(heap, "snug_compact_set_not_full", [=](auto& heaps) { heaps.set_bound(or_else(not_full, 1)); });
}

SNUG_EXPORT int snug_compact_set_not_full_of(snug_compact_heap* heap, size_t bytes, size_t not_full) {
  return with(heap, "snug_compact_set_not_full_of",
              [=](auto& heaps) { return heaps.set_bound_of(bytes, or_else(not_full, 1)) ? 0 : -1; });
}

SNUG_EXPORT void snug_compact_set_increment(snug_compact_heap* heap, size_t increment) {
  with(heap, "snug_compact_set_increment",
       [=](auto& heaps) { heaps.set_increment(or_else(increment, CompactFit::kIncrement)); });
}

SNUG_EXPORT int snug_compact_step(snug_compact_heap* heap, const snug_compact_budget* budget) {
  const uint64_t asked = budget == nullptr ? 0 : budget->nanoseconds;
  const uint64_t begin = asked == 0 ? 0 : os::nanoseconds();
  CompactBudget limit(heap->margin.to_use(asked), budget == nullptr ? 0 : budget->bytes, begin);
  const int is_left = with(heap, "snug_compact_step", [&](auto& heaps) { return heaps.step(limit) ? 1 : 0; });
  if (limit.is_out_of_time()) heap->margin.note(asked, os::nanoseconds() - begin);
  return is_left;
}

SNUG_EXPORT size_t snug_compact_give_back(snug_compact_heap* heap, size_t rows) {
  const size_t most = or_else(rows, BlockPages::kAllRows);
  return with(heap, "snug_compact_give_back", [=](auto& heaps) { return heaps.give_back(most); });
}

SNUG_EXPORT void snug_compact_settle(snug_compact_heap* heap) {
  for_each_fit(heap, "snug_compact_settle", [](CompactFit& one) { one.settle(); });
}

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
  pages.give_back();
}

SNUG_EXPORT void snug_compact_get_stats(const snug_compact_heap* heap, snug_compact_stats* stats) {
  CompactFit::Totals all;
  if (heap->kind == Kind::kDirect)
    all.pages = heap->pages.totals();
  else
    all = heap->kind == Kind::kOne ? heap->fit.totals() : heap->cores.totals();
  all.pages.bytes_records += sizeof *heap;
  if (heap->kind == Kind::kDirect) all.pages.bytes_bound = SIZE_MAX;
  tell_statistics(all, stats);
}

SNUG_EXPORT size_t snug_compact_get_stats_of(const snug_compact_heap* heap, size_t bytes, snug_compact_stats* stats) {
  CompactFit::Totals of_class;
  size_t block = 0;
  if (heap->kind == Kind::kDirect)
    block = heap->pages.totals_of(bytes, of_class.pages);
  else
    block = heap->kind == Kind::kOne ? heap->fit.totals_of(bytes, of_class) : heap->cores.totals_of(bytes, of_class);
  if (heap->kind == Kind::kDirect && block != 0) of_class.pages.bytes_bound = SIZE_MAX;
  tell_statistics(of_class, stats);
  return block;
}

SNUG_EXPORT void snug_compact_walk(snug_compact_heap* heap,
                                   void (*visit)(void* context, snug_handle handle, void* block, size_t bytes),
                                   void* context) {
  for_each_fit(heap, "snug_compact_walk", [=](CompactFit& one) {
    one.for_each_block([=](HandleWord handle, void* block, size_t bytes) { visit(context, handle, block, bytes); });
  });
}

SNUG_EXPORT const char* snug_compact_check(const snug_compact_heap* heap) {
  if (heap->kind == Kind::kDirect) return heap->pages.check();
  return heap->kind == Kind::kOne ? heap->fit.check() : heap->cores.check();
}

SNUG_EXPORT void snug_compact_get_view(snug_compact_heap* heap, snug_compact_view* view) {
  const CompactFit& compact = fit(heap, "snug_compact_get_view");
  const bool is_one = heap->kind == Kind::kOne;
  static_assert(sizeof(HandleTable::Slot) == sizeof(uint64_t));
  view->slots = reinterpret_cast<const uint64_t*>(is_one ? compact.handles().slots() : heap->cores.slots());
  view->slot_limit = is_one ? compact.handles().slot_limit() : heap->cores.slot_limit();
  view->epoch = reinterpret_cast<const uint64_t*>(&compact.epoch());
}

SNUG_EXPORT snug_compact_reader* snug_compact_reader_create(snug_compact_heap* heap) {
  CompactFit& compact = fit(heap, "snug_compact_reader_create");
  if (!compact.is_shared()) die_of_misuse("snug_compact_reader_create", heap, "the heap is one thread's");
  CompactFit::Reader* const reader = compact.open_reader();
  return reader != nullptr ? as_public(reader) : (errno = ENOMEM, nullptr);
}

SNUG_EXPORT void snug_compact_reader_destroy(snug_compact_heap* heap, snug_compact_reader* reader) {
  if (reader != nullptr) fit(heap, "snug_compact_reader_destroy").close_reader(as_reader(reader));
}

SNUG_EXPORT void snug_compact_enter(snug_compact_heap* heap, snug_compact_reader* reader) {
  fit(heap, "snug_compact_enter").enter(*as_reader(reader));
}

SNUG_EXPORT void snug_compact_leave(snug_compact_heap* heap, snug_compact_reader* reader) {
  fit(heap, "snug_compact_leave").leave(*as_reader(reader));
}

}  // extern "C"
