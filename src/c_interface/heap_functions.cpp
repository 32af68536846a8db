// The C interface of heaps that the program makes (include/snug/heap.h).
#include "snug/heap.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "allocator/blocks.h"
#include "allocator/heap_blocks.h"
#include "base/algorithm.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "c_interface/c_functions.h"
#include "heap/region_map.h"
#include "heap/user_heaps.h"
#include "os/memory_node.h"

using namespace snug;

namespace {

UserHeap* inner(snug_heap* heap) { return reinterpret_cast<UserHeap*>(heap); }
snug_heap* outer(UserHeap* heap) { return reinterpret_cast<snug_heap*>(heap); }

static_assert(UserHeap::kNameMax == SNUG_HEAP_NAME_MAX);
static_assert(kPageSize == SNUG_HEAP_REGION_UNIT);

// The options of the first version, which end before the region.
constexpr size_t kFirstSize = offsetof(snug_heap_options, region);

// The options, if this version knows all that is said there.
bool read(const snug_heap_options* options, snug_heap_options* known) {
  *known = {};
  if (options == nullptr) return true;
  if (options->size < sizeof(*known) && options->size != kFirstSize) return false;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(options);
  for (size_t i = sizeof(*known); i < options->size; ++i)
    if (bytes[i] != 0) return false;
  memcpy(known, options, min(options->size, sizeof(*known)));
  return (known->flags & ~(SNUG_HEAP_MUST_BE_EMPTY | SNUG_HEAP_ON_NODE)) == 0;
}

// True unless there is a region that cannot be one, whatever lies in it.
bool may_have_region(const snug_heap_options& known) {
  if (known.region == nullptr) return known.region_bytes == 0;
  const uintptr_t start = address_of(known.region);
  constexpr uintptr_t kEnd = uintptr_t{1} << RegionMap::kAddressBits;
  constexpr size_t kMostBytes = (size_t{1} << 32) * kPageSize;  // pages are counted in 32 bits
  return is_aligned(start | known.region_bytes, SNUG_HEAP_REGION_UNIT) && known.region_bytes != 0 && start < kEnd &&
         known.region_bytes <= min(kEnd - start, kMostBytes) && (known.flags & SNUG_HEAP_ON_NODE) == 0;
}

// Has the thread's malloc take from the heap, or from its own if it is null. Returns the heap that was in force.
snug_heap* take_from(snug_heap* heap, const char* call) {
  return outer(enter_scope(heap == nullptr ? nullptr : &live_heap(inner(heap), call)));
}

}  // namespace

extern "C" {

SNUG_EXPORT snug_heap* snug_heap_create(const snug_heap_options* options) {
  snug_heap_options known;
  if (!read(options, &known) || !may_have_region(known)) return refuse(EINVAL);
  HeapLimits limits;
  if (known.limit != 0) limits.most = known.limit;
  if (known.soft_limit != 0) limits.soft = known.soft_limit;
  limits.region = known.region;
  limits.region_bytes = known.region_bytes;
  if (known.region != nullptr) limits.most = min(limits.most, known.region_bytes);
  limits.must_be_empty = (known.flags & SNUG_HEAP_MUST_BE_EMPTY) != 0;
  if ((known.flags & SNUG_HEAP_ON_NODE) != 0) {
    if (const int why = os::why_no_node(known.node); why != 0) return refuse(why);
    limits.node = static_cast<int>(known.node);
  }
  return outer(make_heap(known.name, limits));
}

SNUG_EXPORT int snug_heap_destroy(snug_heap* heap) {
  if (heap == nullptr) return 0;
  return destroy_heap(live_heap(inner(heap), "snug_heap_destroy")) ? 0 : EBUSY;
}

SNUG_EXPORT void* snug_heap_malloc(snug_heap* heap, size_t size) { return allocate_in(inner(heap), size); }

SNUG_EXPORT void* snug_heap_calloc(snug_heap* heap, size_t count, size_t size) {
  return allocate_zeroed_in(live_heap(inner(heap), "snug_heap_calloc"), count, size);
}

SNUG_EXPORT void* snug_heap_aligned_alloc(snug_heap* heap, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment)) return refuse(EINVAL);
  return allocate_aligned_in(live_heap(inner(heap), "snug_heap_aligned_alloc"), alignment, size);
}

SNUG_EXPORT void* snug_heap_aligned_calloc(snug_heap* heap, size_t alignment, size_t count, size_t size) {
  if (!is_power_of_two(alignment)) return refuse(EINVAL);
  return allocate_aligned_zeroed_in(live_heap(inner(heap), "snug_heap_aligned_calloc"), alignment, count, size);
}

// As realloc: null is malloc, and size 0 frees the block.
SNUG_EXPORT void* snug_heap_realloc(snug_heap* heap, void* block, size_t size) {
  if (block == nullptr) return allocate_in(inner(heap), size);
  if (size == 0) {
    deallocate(block);
    return nullptr;
  }
  return resize_into(live_heap(inner(heap), "snug_heap_realloc"), block, size);
}

SNUG_EXPORT size_t snug_heap_malloc_batch(snug_heap* heap, size_t size, void** blocks, size_t count) {
  return allocate_batch_in(live_heap(inner(heap), "snug_heap_malloc_batch"), size, blocks, count);
}

SNUG_EXPORT snug_heap* snug_heap_of(const void* block) { return outer(heap_of(block)); }

SNUG_EXPORT const char* snug_heap_name(const snug_heap* heap) {
  return live_heap(inner(const_cast<snug_heap*>(heap)), "snug_heap_name").name();
}

SNUG_EXPORT snug_heap* snug_heap_enter(snug_heap* heap) { return take_from(heap, "snug_heap_enter"); }

SNUG_EXPORT void snug_heap_leave(snug_heap* before) { take_from(before, "snug_heap_leave"); }

SNUG_EXPORT int snug_heap_get_stats(snug_heap* heap, snug_heap_stats* stats) {
  UserHeap& its = live_heap(inner(heap), "snug_heap_get_stats");
  const HeapFigures figures = allocator.user_heaps.figures(its);
  *stats = {};
  stats->blocks_in_use = figures.blocks;
  stats->bytes_in_use = figures.in_use;
  stats->bytes_held = min(figures.held, figures.peak_held);  // more is about to be made, and may be refused
  stats->bytes_cached = figures.cached;
  stats->peak_held = figures.peak_held;
  stats->limit = figures.limit;
  stats->soft_limit = figures.soft_limit;
  return 0;
}

SNUG_EXPORT int snug_heap_visit(snug_heap* heap, int (*visit)(void* argument, void* block, size_t bytes),
                                void* argument) {
  return visit_heap(live_heap(inner(heap), "snug_heap_visit"), visit, argument);
}

SNUG_EXPORT int snug_heap_trim(snug_heap* heap) {
  return allocator.user_heaps.trim(live_heap(inner(heap), "snug_heap_trim")) != 0 ? 1 : 0;
}

}  // extern "C"
