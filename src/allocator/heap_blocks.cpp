#include "allocator/heap_blocks.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "allocator/blocks.h"
#include "allocator/plain_blocks.h"
#include "allocator/refill.h"
#include "allocator/refusal.h"
#include "allocator/sampled_blocks.h"
#include "base/algorithm.h"
#include "base/errno_keeper.h"
#include "base/fatal.h"
#include "size/class_table.h"

namespace snug {
namespace {

constexpr const char* kNoHeap = "not a heap, or it was destroyed";

// For a request that the heap's limit refuses: what rests in the quarantine comes home, then the program is asked to
// free something. False if nothing was freed. The quarantine is emptied once for a request: other threads fill it
// again.
bool ask_at_limit(UserHeap& heap, size_t size, bool& has_released) {
  const HeapFigures figures = allocator.user_heaps.figures(heap);
  if (size > figures.limit) return false;  // whatever is freed
  if (allocator.is_checked() && !has_released) {
    has_released = true;
    if (release_rested()) return true;
  }
  if (!allocator.pressure.may_ask(SNUG_PRESSURE_HARD)) return false;
  return allocator.pressure.ask({sizeof(snug_pressure), SNUG_PRESSURE_HARD, figures.held, figures.limit, size,
                                 reinterpret_cast<snug_heap*>(&heap)});
}

// Calls attempt() until it is true, and asks at the heap's limit in between. False if nothing more could be freed.
template <class Attempt>
bool persist_at_limit(UserHeap& heap, size_t size, Attempt attempt) {
  bool has_released = false;
  while (!attempt())
    if (!ask_at_limit(heap, size, has_released)) return false;
  return true;
}

void* refused_at_limit() {
  allocator.pressure.count_refusal();
  return out_of_memory();
}

// As Allocator::relieve_as_passed(), for a heap of its own.
void relieve_as_passed(UserHeap& heap) {
  if (thread_state.asked != 0 || !heap.soft_limit().claim()) return;
  const ErrnoKeeper keeper;
  UserHeaps& heaps = allocator.user_heaps;
  const size_t limit = heap.soft_limit().bytes();
  heaps.trim(heap);
  const size_t held = heaps.figures(heap).held;
  if (held > limit && allocator.pressure.ask({sizeof(snug_pressure), SNUG_PRESSURE_SOFT, held, limit, 0,
                                              reinterpret_cast<snug_heap*>(&heap)}))
    heaps.trim(heap);
  heap.soft_limit().answered([&] { return heaps.figures(heap).held; });
}

// After an operation of the heap's that may have taken memory.
void maintain(UserHeap& heap) {
  allocator.maintain();
  if (heap.soft_limit().is_passed()) [[unlikely]]
    relieve_as_passed(heap);
}

void* block_of_class(UserHeap& heap, size_t size_class) {
  const size_t size = allocator.table->classes[size_class].block_size;
  bool at_limit = false;
  const auto attempt = [&] {
    at_limit = false;
    // In a checked process heaps have no caches, so that one that was destroyed sees when its last block comes home.
    const bool may_cache = !allocator.is_checked() && thread_cache() != nullptr;
    return allocator.user_heaps.take(heap, size_class, may_cache, &at_limit);
  };
  void* block = nullptr;
  persist_at_limit(heap, size, [&] { return (block = attempt()) != nullptr || !at_limit; });
  if (block == nullptr) block = at_limit ? refused_at_limit() : insist(size, attempt, [] { return nullptr; });
  maintain(heap);
  return block;
}

// Bytes that a large block of that size counts as, at most: a run has whole pages of ours.
size_t most_counted(size_t size) { return round_up(size, kPageSize); }

HeapLarge* large_record() {
  return static_cast<HeapLarge*>(
      insist(sizeof(HeapLarge), [] { return allocator.user_heaps.larges().make(); }, [] { return nullptr; }));
}

// What is known of a block of a user heap: none of it where the address is none.
struct Place {
  UserHeap* heap = nullptr;
  const HeapSlab* slab = nullptr;  // null for a large block
  size_t usable = 0;
};

Place place_of(const void* block) {
  if (const HeapSlab* const slab = allocator.user_heaps.slab_at(block); slab != nullptr)
    return {slab->heap, slab, slab->slab.block_size};
  const HeapLarge* const large = allocator.user_heaps.larges().find(block);
  return large == nullptr ? Place() : Place{large->heap, nullptr, large->bytes};
}

// The block's contents in a new block of the heap. Where there is none, null, or the block itself if it may stay.
void* copied(UserHeap& heap, void* block, size_t usable, size_t size, bool may_stay) {
  const Wish wish(may_stay);
  void* const fresh = allocate_plain_in(heap, size);
  if (fresh == nullptr) return may_stay ? block : nullptr;
  memcpy(fresh, block, min(size, usable));
  deallocate(block);
  return fresh;
}

// The block at its new size, in its heap.
void* resized_in(const Place& place, void* block, size_t size) {
  UserHeap& heap = *place.heap;
  const size_t usable = place.usable;
  if (place.slab == nullptr && size > allocator.table->max_size) {
    if (!heap.is_in_region() && allocator.large_blocks.fits(block, size)) return block;
    if (void* const resized = resize_large_in_heap(heap, block, size); resized != nullptr) return resized;
  } else if (size <= usable && usable - size <= usable / 2) {
    return block;
  }
  if (void* const moved = copied(heap, block, usable, size, size <= usable); moved != nullptr) return moved;
  // What was empty has gone from a region by now.
  return heap.is_in_region() && place.slab == nullptr ? resize_large_in_heap(heap, block, size) : nullptr;
}

void* allocate_large_in_region(UserHeap& heap, const LargeRequest& request) {
  HeapLarge* const large = large_record();
  if (large == nullptr) return out_of_memory();
  large->heap = &heap;
  if (!persist_at_limit(heap, request.size, [&] {
        return allocator.user_heaps.place(large, most_counted(request.size), request.alignment);
      })) {
    allocator.user_heaps.larges().recycle(large);
    return refused_at_limit();
  }
  void* const block = large->start;
  if (request.zeroed) memset(block, 0, request.size);
  maintain(heap);
  return block;
}

// True if the memory is a part of a block that a free finds by the window, or by the region of threads with deadlines:
// what a heap had there would be taken for one of those.
bool is_found_otherwise(const void* address) {
  return plain_class_at(address) != 0 || HeapSlab::at_address(allocator.page_map, address) != nullptr ||
         allocator.real_time.contains(address);
}

// 0, or the error of a region that cannot be a heap's.
int claim(const char* region, size_t bytes) {
  if (is_found_otherwise(region) || is_found_otherwise(region + bytes - 1)) return EINVAL;
  const size_t first = RegionMap::page_of(region);
  switch (allocator.user_heaps.regions().claim(first, first + (bytes >> kPageShift))) {
    case RegionMap::Claim::kDone:
      return 0;
    case RegionMap::Claim::kOverlaps:
      return EEXIST;
    case RegionMap::Claim::kRefused:
      break;
  }
  return ENOMEM;
}

}  // namespace

void* resize_large_in_heap(UserHeap& heap, void* block, size_t size) noexcept {
  // The kernel moves only memory of one policy, and might bind what is added no more: the caller copies.
  if (heap.is_on_node()) return nullptr;
  HeapLarge* const large =
      heap.is_in_region() ? allocator.user_heaps.larges().find(block) : allocator.user_heaps.strike_off(block);
  if (large == nullptr) die_of_misuse("realloc", block, kAlreadyFree);
  if (heap.is_in_region()) {
    if (!allocator.user_heaps.resize(large, most_counted(size))) return nullptr;
    maintain(heap);
    return block;
  }
  const size_t most = max(large->bytes, most_counted(size));
  const bool may_be = most == large->bytes || allocator.user_heaps.hold(heap, most - large->bytes);
  const size_t counted = may_be ? most : large->bytes;
  void* resized = nullptr;
  if (may_be) resized = resize_large(block, size);
  if (resized != nullptr) {
    large->start = resized;
    large->bytes = min(counted, allocator.large_blocks.usable_size(resized));
  }
  allocator.user_heaps.let_go(heap, counted - large->bytes);
  allocator.user_heaps.enlist(large);
  allocator.purge_kept_mappings();
  allocator.relieve_if_passed();
  if (heap.soft_limit().is_passed()) relieve_as_passed(heap);
  return resized;
}

UserHeap* make_heap(const char* name, const HeapLimits& limits) {
  if (!allocator.ensure_open()) return static_cast<UserHeap*>(out_of_memory());
  if (limits.region != nullptr)
    if (const int error = claim(static_cast<char*>(limits.region), limits.region_bytes); error != 0) {
      errno = error;
      return nullptr;
    }
  const auto attempt = [&] { return allocator.user_heaps.make(name, limits); };
  void* const heap = insist(sizeof(UserHeap), attempt, [] { return nullptr; });
  if (heap == nullptr && limits.region != nullptr)
    HeapRegion(allocator.user_heaps.regions(), limits.region, limits.region_bytes).end();
  allocator.maintain();
  return static_cast<UserHeap*>(heap);
}

UserHeap& live_heap(UserHeap* heap, const char* call) {
  if (heap == nullptr || !is_aligned(address_of(heap), alignof(UserHeap)) || !heap->is_live()) [[unlikely]]
    die_of_misuse(call, heap, kNoHeap);
  return *heap;
}

bool destroy_heap(UserHeap& heap) {
  const auto free_large = [&heap](void* block) {
    if (heap.is_in_region()) return;  // its pages are free already
    heap.unbind(block, allocator.large_blocks.usable_size(block));
    deallocate_outside_slabs(block, "free");
  };
  const bool is_done = allocator.is_checked()
                           ? destroy_checked(heap)
                           : allocator.user_heaps.destroy(heap, thread_cache() != nullptr, free_large);
  allocator.maintain_quietly();
  return is_done;
}

void* allocate_in_slow(UserHeap* heap, size_t size) noexcept {
  UserHeap& its = live_heap(heap, "snug_heap_malloc");
  return allocator.is_checked() ? allocate_checked(size, BlockOrigin::kMalloc, &its) : allocate_plain_in(its, size);
}

void* allocate_plain_in(UserHeap& heap, size_t size) noexcept {
  return size > allocator.table->max_size ? allocate_large_in(heap, {.size = size})
                                          : block_of_class(heap, allocator.table->class_of(size));
}

void* refill_in(UserHeap* heap, HeadStep step) noexcept { return allocate_in_slow(heap, size_of_step(step)); }

void* allocate_large_in(UserHeap& heap, const LargeRequest& request) noexcept {
  if (request.size > PTRDIFF_MAX - kPageSize) return out_of_memory();
  if (heap.is_in_region()) return allocate_large_in_region(heap, request);
  const size_t counted = most_counted(request.size);
  if (!persist_at_limit(heap, request.size, [&] { return allocator.user_heaps.hold(heap, counted); }))
    return refused_at_limit();
  HeapLarge* const large = large_record();
  void* block = large == nullptr ? nullptr : allocate_plain_large(request);
  if (block != nullptr && !heap.bind(block, allocator.large_blocks.usable_size(block), true)) {
    deallocate_outside_slabs(block, "free");
    block = nullptr;
  }
  if (block == nullptr) {
    if (large != nullptr) allocator.user_heaps.larges().recycle(large);
    allocator.user_heaps.let_go(heap, counted);
    return out_of_memory();
  }
  large->heap = &heap;
  large->start = block;
  large->bytes = min(counted, allocator.large_blocks.usable_size(block));
  allocator.user_heaps.let_go(heap, counted - large->bytes);
  allocator.user_heaps.enlist(large);
  maintain(heap);
  return block;
}

UserHeap* enter_scope(UserHeap* heap) {
  UserHeap* const before = scope_heap;
  if (!allocator.ensure_open()) return before;
  ThreadCache* const cache = allocator.is_checked() ? nullptr : thread_cache();  // no malloc takes the fast path there
  if (cache != nullptr && before == nullptr && heap != nullptr) cache->close();
  if (cache != nullptr && before != nullptr && heap == nullptr && own_part == nullptr) cache->reopen();
  scope_heap = heap;
  return before;
}

void* allocate_zeroed_in(UserHeap& heap, size_t count, size_t size) noexcept {
  size_t bytes = 0;
  if (multiply_overflows(count, size, &bytes)) return out_of_memory();
  if (allocator.is_checked()) return allocate_checked_zeroed(bytes, &heap);
  if (bytes > allocator.table->max_size) return allocate_large_in(heap, {.size = bytes, .zeroed = true});
  void* const block = allocate_in(&heap, bytes);
  if (block != nullptr) memset(block, 0, bytes);
  return block;
}

void* allocate_aligned_in(UserHeap& heap, size_t alignment, size_t size) noexcept {
  if (alignment <= kSmallStep) return allocate_in(&heap, size);
  return allocator.is_checked() ? allocate_checked_aligned(alignment, size, BlockOrigin::kMalloc, &heap)
                                : allocate_plain_aligned_in(heap, alignment, size);
}

void* allocate_plain_aligned_in(UserHeap& heap, size_t alignment, size_t size) noexcept {
  if (alignment <= kSmallStep) return allocate_plain_in(heap, size);
  if (const size_t c = allocator.table->aligned_class_of(alignment, size); c != 0) return block_of_class(heap, c);
  return allocate_large_in(heap, {.size = size == 0 ? 1 : size, .alignment = alignment});
}

void* allocate_aligned_zeroed_in(UserHeap& heap, size_t alignment, size_t count, size_t size) noexcept {
  size_t bytes = 0;
  if (multiply_overflows(count, size, &bytes)) return out_of_memory();
  if (alignment <= kSmallStep) return allocate_zeroed_in(heap, 1, bytes);
  if (!allocator.is_checked() && allocator.table->aligned_class_of(alignment, bytes) == 0)
    return allocate_large_in(heap, {.size = max<size_t>(bytes, 1), .alignment = alignment, .zeroed = true});
  void* const block = allocate_aligned_in(heap, alignment, bytes);
  if (block != nullptr) memset(block, 0, bytes);
  return block;
}

size_t allocate_batch_in(UserHeap& heap, size_t size, void** blocks, size_t count) noexcept {
  size_t done = 0;
  if (size > allocator.table->max_size || allocator.is_checked()) {
    for (; done != count; ++done)
      if (blocks[done] = allocate_in_slow(&heap, size); blocks[done] == nullptr) break;
    return done;
  }
  const size_t size_class = allocator.table->class_of(size);
  done = allocator.user_heaps.take_batch(heap, size_class, blocks, count);
  for (; done != count; ++done)  // the OS, or the limit, has refused
    if (blocks[done] = block_of_class(heap, size_class); blocks[done] == nullptr) break;
  maintain(heap);
  return done;
}

UserHeap* heap_of(const void* block) { return place_of(block).heap; }

const char* why_none_in_region(const void* address) {
  const RegionMap& regions = allocator.user_heaps.regions();
  if (!regions.knows(address)) return nullptr;
  return regions.is_taken(address) ? kInterior : kAlreadyFree;
}

int visit_heap(UserHeap& heap, int (*visit)(void* argument, void* block, size_t bytes), void* argument) {
  const bool checks = allocator.is_checked();
  const auto is_live = [&](void* block, size_t bytes) { return !checks || is_live_checked(block, bytes, &bytes); };
  return allocator.user_heaps.visit(heap, is_live, [&](void* block, size_t bytes) {
    if (checks) is_live_checked(block, bytes, &bytes);
    return visit(argument, block, bytes);
  });
}

bool release_in_heap(void* block) noexcept {
  if (HeapSlab* const slab = allocator.user_heaps.slab_at(block); slab != nullptr) {
    const ErrnoKeeper keeper;
    UserHeap& heap = *slab->heap;
    // A free alone begins no cache of the thread's: it may be its last act.
    allocator.user_heaps.give(*slab, block, thread_state.cache != nullptr && !allocator.is_checked());
    if (heap.is_resting()) [[unlikely]]
      allocator.user_heaps.end_if_empty(heap);
    return true;
  }
  HeapLarge* const large = allocator.user_heaps.strike_off(block);
  if (large == nullptr) return false;
  const ErrnoKeeper keeper;
  UserHeap& heap = *large->heap;
  if (heap.is_in_region()) {
    allocator.user_heaps.larges().recycle(large);
    return true;
  }
  heap.unbind(block, allocator.large_blocks.usable_size(block));
  allocator.user_heaps.let_go(heap, large->bytes);
  allocator.user_heaps.larges().recycle(large);
  if (heap.is_resting()) [[unlikely]]
    allocator.user_heaps.end_if_empty(heap);
  deallocate_outside_slabs(block, "free");
  return true;
}

size_t usable_in_heap(const void* block) { return place_of(block).usable; }

bool resize_in_heap(void* block, size_t size, void** resized) noexcept {
  const Place place = place_of(block);
  if (place.heap == nullptr) return false;
  if (size > PTRDIFF_MAX) {
    *resized = out_of_memory();
    return true;
  }
  if (place.slab != nullptr) check_start(place.slab->slab, block, "realloc");
  *resized = resized_in(place, block, size);
  return true;
}

void* resize_into(UserHeap& heap, void* block, size_t size) noexcept {
  if (allocator.is_checked()) return resize_checked(block, size, "realloc", &heap);
  if (size > PTRDIFF_MAX) return out_of_memory();
  const Place place = place_of(block);
  if (place.slab != nullptr) check_start(place.slab->slab, block, "realloc");
  if (place.heap == &heap) return resized_in(place, block, size);
  return copied(heap, block, place.heap != nullptr ? place.usable : usable_size(block, "realloc"), size, false);
}

}  // namespace snug
