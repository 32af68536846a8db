#include "allocator/heap_blocks.h"

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

size_t class_size(size_t size_class) { return allocator.table->classes[size_class].block_size; }

void* block_of_class(UserHeap& heap, size_t size_class) {
  const auto attempt = [&] { return allocator.user_heaps.take(heap, size_class, thread_cache() != nullptr); };
  void* block = attempt();
  if (block == nullptr && !heap.was_at_limit()) block = insist(class_size(size_class), attempt, [] { return nullptr; });
  allocator.maintain();
  return block != nullptr ? block : out_of_memory();
}

bool hold(UserHeap& heap, size_t bytes) {
  LockGuard guard(heap.lock());
  return heap.hold(bytes) || (heap.trim() != 0 && heap.hold(bytes));
}

void let_go(UserHeap& heap, size_t bytes) {
  LockGuard guard(heap.lock());
  heap.let_go(bytes);
}

void free_large(void* block) {
  if (!allocator.profile.has_been_on() || !release_sampled(block, "free")) deallocate_large(block, "free");
}

// The block counts as long as it is from now on; false, and it counts as before, if the limit forbids that.
bool set_bytes(UserHeap& heap, size_t& counted, size_t bytes) {
  if (bytes > counted && !hold(heap, bytes - counted)) return false;
  if (bytes < counted) let_go(heap, counted - bytes);
  counted = bytes;
  return true;
}

// A fork finds a large block both in the list of its heap and in the table of all, or in neither.
void enlist(HeapLarge* large) {
  large->heap->lock().assume_held();
  allocator.user_heaps.larges().insert(large);
  large->heap->add(large);
}

// Takes the large block out of its heap; its record is the caller's. Null if no heap has such a block.
HeapLarge* strike_off(void* block) {
  HeapLarge* const large = allocator.user_heaps.larges().find(block);
  if (large == nullptr) return nullptr;
  LockGuard guard(large->heap->lock());
  allocator.user_heaps.larges().take(block);
  large->heap->remove(large);
  return large;
}

// A large block at another large size, without copying; null if that cannot be done.
void* resized_large(void* block, size_t size) {
  HeapLarge* const large = strike_off(block);
  UserHeap& heap = *large->heap;
  const size_t before = large->bytes;
  const size_t wanted = round_up(size, os::page_size());
  void* resized = nullptr;
  if (wanted <= before || set_bytes(heap, large->bytes, wanted))
    resized = allocator.profile.has_been_on() ? resize_large_sampled(block, size)
                                              : allocator.large_blocks.resize(block, size);
  const size_t now = resized == nullptr ? before : allocator.large_blocks.usable_size(resized);
  // What the block turned out to have beyond what was asked for may pass the limit by less than a page of ours.
  LockGuard guard(heap.lock());
  if (now > large->bytes) heap.hold_over(now - large->bytes);
  if (now < large->bytes) heap.let_go(large->bytes - now);
  large->bytes = now;
  large->start = resized == nullptr ? block : resized;
  enlist(large);
  return resized;
}

void* copied(UserHeap& heap, void* block, size_t usable, size_t size) {
  void* const fresh = allocate_in_slow(&heap, size);
  if (fresh == nullptr) return size <= usable && heap_of(block) == &heap ? block : nullptr;
  memcpy(fresh, block, min(size, usable));
  deallocate(block);
  return fresh;
}

bool is_start(const HeapSlab& slab, const void* block) {
  return slab.slab.has_block_at(allocator.table->classes[slab.slab.size_class], block);
}

}  // namespace

UserHeap* make_heap(const char* name, const HeapLimits& limits) {
  UserHeap* const heap = allocator.ensure_open() ? allocator.user_heaps.make(name, limits) : nullptr;
  if (heap == nullptr) out_of_memory();
  return heap;
}

UserHeap& live_heap(UserHeap* heap, const char* call) {
  if (heap == nullptr || !is_aligned(address_of(heap), alignof(UserHeap)) || !heap->is_live()) [[unlikely]]
    die_of_misuse(call, heap, kNoHeap);
  return *heap;
}

bool destroy_heap(UserHeap& heap) {
  const bool is_done = allocator.user_heaps.destroy(heap, [](void* block) { free_large(block); });
  allocator.maintain();
  return is_done;
}

void* allocate_in_slow(UserHeap* heap, size_t size) noexcept {
  UserHeap& its = live_heap(heap, "snug_heap_malloc");
  return size > allocator.table->max_size ? allocate_large_in(its, {.size = size})
                                          : block_of_class(its, allocator.table->class_of(size));
}

void* refill_in(UserHeap* heap, HeadStep step) noexcept { return allocate_in_slow(heap, size_of_step(step)); }

void* allocate_large_in(UserHeap& heap, const LargeRequest& request) noexcept {
  if (request.size > PTRDIFF_MAX - kPageSize) return out_of_memory();
  size_t counted = round_up(request.size, os::page_size());
  if (!hold(heap, counted)) return out_of_memory();
  HeapLarge* const large = allocator.user_heaps.larges().make();
  void* block = large == nullptr ? nullptr : allocate_plain_large(request);
  if (block != nullptr && !set_bytes(heap, counted, allocator.large_blocks.usable_size(block))) {
    free_large(block);
    block = nullptr;
  }
  if (block == nullptr) {
    if (large != nullptr) allocator.user_heaps.larges().recycle(large);
    let_go(heap, counted);
    return out_of_memory();
  }
  large->heap = &heap;
  large->bytes = counted;
  large->start = block;
  LockGuard guard(heap.lock());
  enlist(large);
  return block;
}

UserHeap* enter_scope(UserHeap* heap) {
  UserHeap* const before = scope_heap;
  if (!allocator.ensure_open() || allocator.is_checked()) return before;
  ThreadCache* const cache = thread_cache();
  if (cache != nullptr && before == nullptr && heap != nullptr) cache->close();
  if (cache != nullptr && before != nullptr && heap == nullptr) cache->reopen();
  scope_heap = heap;
  return before;
}

void* allocate_zeroed_in(UserHeap& heap, size_t count, size_t size) noexcept {
  size_t bytes = 0;
  if (multiply_overflows(count, size, &bytes)) return out_of_memory();
  if (bytes > allocator.table->max_size) return allocate_large_in(heap, {.size = bytes, .zeroed = true});
  void* const block = allocate_in(&heap, bytes);
  if (block != nullptr) memset(block, 0, bytes);
  return block;
}

void* allocate_aligned_in(UserHeap& heap, size_t alignment, size_t size) noexcept {
  if (alignment <= kSmallStep) return allocate_in(&heap, size);
  const ClassTable& table = *allocator.table;
  if (alignment <= table.max_size && size <= table.max_size) {
    const size_t padded = round_up(size == 0 ? 1 : size, alignment);
    for (size_t c = padded <= table.max_size ? table.class_of(padded) : table.count; c < table.count; ++c)
      if (is_aligned(table.classes[c].block_size, alignment)) return block_of_class(heap, c);
  }
  return allocate_large_in(heap, {.size = size == 0 ? 1 : size, .alignment = alignment});
}

size_t allocate_batch_in(UserHeap& heap, size_t size, void** blocks, size_t count) noexcept {
  size_t done = 0;
  if (size > allocator.table->max_size) {
    for (; done != count; ++done)
      if (blocks[done] = allocate_large_in(heap, {.size = size}); blocks[done] == nullptr) break;
    return done;
  }
  const size_t size_class = allocator.table->class_of(size);
  done = allocator.user_heaps.take_batch(heap, size_class, blocks, count);
  for (; done != count; ++done)  // the OS, or the limit, has refused
    if (blocks[done] = block_of_class(heap, size_class); blocks[done] == nullptr) break;
  return done;
}

UserHeap* heap_of(const void* block) {
  if (block == nullptr || !allocator.user_heaps.are_used()) return nullptr;
  if (const HeapSlab* const slab = allocator.user_heaps.slab_at(block); slab != nullptr) return slab->heap;
  const HeapLarge* const large = allocator.user_heaps.larges().find(block);
  return large == nullptr ? nullptr : large->heap;
}

bool release_in_heap(void* block) noexcept {
  if (HeapSlab* const slab = allocator.user_heaps.slab_at(block); slab != nullptr) {
    const ErrnoKeeper keeper;
    // A free alone begins no cache of the thread's: it may be its last act.
    allocator.user_heaps.give(*slab, block, thread_state.cache != nullptr);
    return true;
  }
  HeapLarge* const large = strike_off(block);
  if (large == nullptr) return false;
  const ErrnoKeeper keeper;
  let_go(*large->heap, large->bytes);
  allocator.user_heaps.larges().recycle(large);
  free_large(block);
  return true;
}

size_t usable_in_heap(const void* block) {
  if (const HeapSlab* const slab = allocator.user_heaps.slab_at(block); slab != nullptr) return slab->slab.block_size;
  const HeapLarge* const large = allocator.user_heaps.larges().find(block);
  return large == nullptr ? 0 : large->bytes;
}

bool resize_in_heap(void* block, size_t size, void** resized) noexcept {
  UserHeap* const heap = heap_of(block);
  if (heap == nullptr) return false;
  *resized = resize_into(*heap, block, size);
  return true;
}

void* resize_into(UserHeap& heap, void* block, size_t size) noexcept {
  if (size > PTRDIFF_MAX) return out_of_memory();
  const HeapSlab* const slab = allocator.user_heaps.slab_at(block);
  if (slab != nullptr && !is_start(*slab, block)) die_of_misuse("realloc", block, kInterior);
  const size_t usable = usable_size(block, "realloc");
  if (heap_of(block) != &heap) return copied(heap, block, usable, size);
  if (slab != nullptr || size <= allocator.table->max_size)
    return size <= usable && usable - size <= usable / 2 ? block : copied(heap, block, usable, size);
  if (allocator.large_blocks.fits(block, size)) return block;
  void* const resized = resized_large(block, size);
  allocator.purge_kept_mappings();
  return resized != nullptr ? resized : copied(heap, block, usable, size);
}

}  // namespace snug
