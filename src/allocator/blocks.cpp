#include "allocator/blocks.h"

#include <stdint.h>
#include <string.h>

#include "allocator/checked_blocks.h"
#include "allocator/heap_blocks.h"
#include "allocator/plain_blocks.h"
#include "allocator/real_time_blocks.h"
#include "allocator/refill.h"
#include "allocator/refusal.h"
#include "allocator/sampled_blocks.h"
#include "base/algorithm.h"
#include "base/errno_keeper.h"
#include "base/fatal.h"
#include "slab/slab.h"

namespace snug {
namespace {

// A thread that does nothing but free gets a cache too, once it has made as many frees as the longest array has places:
// more than glibc makes behind its last destructor, where nothing would end a cache.
ThreadCache* cache_for_free() {
  ThreadState& state = thread_state;
  if (state.cache != nullptr || state.ended) return state.cache;
  if (state.frees == 0 && !allocator.caches.hear_of_end()) return nullptr;
  return ++state.frees < ArrayStore::kMostPlaces ? nullptr : thread_cache();
}

}  // namespace

SNUG_COLD void note_request(void* block, size_t size) {
  if (const size_t scaled_class = block == nullptr ? 0 : plain_class_at(block); scaled_class != 0)
    allocator.peak.note_request(scaled_class / kClassScale, block, size);
}

namespace {

// Serves sizes beyond the largest class; the first request of the process, before any class is known; every request of
// a checked process, and of one that is to report; and, while the heap profile runs, those beyond the head table.
SNUG_NOINLINE void* allocate_without_class(size_t size, BlockOrigin origin) noexcept {
  if (!allocator.ensure_open()) return out_of_memory();
  return allocator.is_checked() ? allocate_checked(size, origin) : noted(allocate_plain(size), size);
}

SNUG_COLD void* large_block_if_plain(size_t size) noexcept {
  return allocator.is_plain() ? allocate_large_in_scope({.size = size}) : nullptr;
}

template <class Otherwise>
SNUG_ALWAYS_INLINE void* allocate_beyond_heads(size_t size, Otherwise otherwise) {
  if (!allocator.is_plain() || size > allocator.table->max_size) [[unlikely]]
    return otherwise();
  return allocate_from(head_of(relative_thread_state(), scaled(allocator.table->class_of(size))),
                       [size] { return refill(size); });
}

SNUG_COLD void* refill_aligned(size_t alignment, size_t size, size_t padded) noexcept {
  if (ThreadPart* const part = announced_part(); part != nullptr)
    return allocate_aligned_in_part(part, alignment, size);
  return refill(padded);
}

SNUG_COLD void* allocate_aligned_otherwise(size_t alignment, size_t size, BlockOrigin origin) noexcept {
  if (!allocator.ensure_open()) return out_of_memory();
  return allocator.is_checked() ? allocate_checked_aligned(alignment, size, origin)
                                : noted(allocate_plain_aligned(alignment, size), size);
}

// True if the address lies on a free page that a slab, or a run, has covered before.
bool lies_where_blocks_were(const void* block) {
  return allocator.page_map.contains(block) && allocator.spans.was_used(allocator.page_map.page_of(block));
}

void deallocate_of_class(size_t scaled_class, void* block) {
  if (ThreadCache* cache = cache_for_free(); cache == nullptr) {
    allocator.registry.take_home(scaled_class / kClassScale, block);
  } else if (is_newest(head_of(relative_thread_state(), scaled_class), block)) {
    die_of_misuse("free", block, kAlreadyFree);
  } else if (!push(relative_thread_state(), scaled_class, block)) {
    cache->overflow(scaled_class / kClassScale, block);
  }
}

// Moves the block's contents into a new block that is long enough. Null if there is no memory for one.
void* moved(void* block, size_t usable, size_t size) {
  const bool grows_large = size > allocator.table->max_size && size > usable;
  const ScopePause pause;  // it stays in its heap
  const Wish wish(size <= usable);
  void* fresh = grows_large ? allocate_large_in_scope({.size = size, .will_grow = true}) : allocate(size);
  if (fresh == nullptr) return size <= usable ? block : nullptr;
  memcpy(fresh, block, min(size, usable));
  deallocate(block);
  return fresh;
}

}  // namespace

void* allocate_plain_large(LargeRequest request) {
  if (request.size > PTRDIFF_MAX) return out_of_memory();
  allocator.peak.look_as_due();
  if (const ThreadCache* const cache = thread_state.cache; cache != nullptr) request.home = cache->heap().home();
  const auto attempt = [&request] { return allocator.large_blocks.allocate(request); };
  // The span store's addresses are released last, since other mappings may take them.
  void* block =
      counted(insist(request.size, attempt, [&] { return allocator.spans.release_addresses() ? attempt() : nullptr; }));
  allocator.maintain();
  return allocator.profile.is_on() ? note_large(block, request.size) : block;
}

void* allocate_large_in_scope(const LargeRequest& request) {
  if (scope_heap != nullptr) return allocate_large_in(*scope_heap, request);
  if (ThreadPart* const part = announced_part(); part != nullptr) return allocate_uncounted_in_part(part, request.size);
  return allocate_plain_large(request);
}

void deallocate_large(void* block, const char* call) {
  allocator.peak.look_as_due();
  switch (allocator.is_open() ? allocator.large_blocks.free(block) : LargeFree::kUnknown) {
    case LargeFree::kFreed:
      return allocator.purge_kept_mappings();
    case LargeFree::kAlreadyFree:
      die_of_misuse(call, block, kAlreadyFree);
    case LargeFree::kInside:
      die_of_misuse(call, block, kInterior);
    case LargeFree::kUnknown:
      if (const char* const why = why_none_in_region(block); why != nullptr) die_of_misuse(call, block, why);
      die_of_misuse(call, block, lies_where_blocks_were(block) ? kAlreadyFree : kForeign);
  }
}

void check_start(const Slab& slab, const void* block, const char* call) {
  if (!slab.has_block_at(allocator.table->classes[slab.size_class], block)) die_of_misuse(call, block, kInterior);
}

void deallocate_outside_slabs(void* block, const char* call) {
  if (!allocator.profile.has_been_on() || !release_sampled(block, call)) deallocate_large(block, call);
}

void* resize_large(void* block, size_t size) {
  const auto attempt = [=] {
    return allocator.profile.has_been_on() ? resize_large_sampled(block, size)
                                           : allocator.large_blocks.resize(block, size);
  };
  return insist_on_resize(size, attempt);
}

void* allocate_plain(size_t size) {
  return size > allocator.table->max_size ? allocate_large_in_scope({.size = size})
                                          : allocate_plain_of_class(allocator.table->class_of(size), size);
}

void* refill_plain(size_t size_class) { return refill(allocator.table->classes[size_class].block_size); }

void* refill_sampled(size_t size_class, size_t size) {
  add_relative<1>(&relative_thread_state()->allocations);
  const ClassTable& table = *allocator.table;
  return refill(table.class_of(size) == size_class ? size : table.classes[size_class].block_size);
}

void deallocate_plain_slow(void* block, size_t scaled_class) {
  if (scaled_class != 0)
    deallocate_of_class(scaled_class, block);
  else if (!allocator.user_heaps.are_used() || !release_in_heap(block))
    deallocate_large(block, "free");
}

namespace {

SNUG_COLD SNUG_NOINLINE void deallocate_ordinary(void* block, size_t scaled_class, BlockOrigin fits,
                                                 size_t told) noexcept {
  if (scaled_class == 0 && allocator.is_checked()) return deallocate_checked(block, fits, told);
  if (allocator.user_heaps.are_used() && scaled_class == 0 && release_in_heap(block)) return;
  ErrnoKeeper keeper;
  if (scaled_class != 0)
    deallocate_of_class(scaled_class, block);
  else if (allocator.guarded.contains(block))
    allocator.guarded.release(block, "free", SNUG_FRAME_ADDRESS());
  else
    deallocate_outside_slabs(block, "free");
}

// What a thread with deadlines may free comes first, and saves no register for the rest.
SNUG_COLD void deallocate_otherwise(void* block, BlockOrigin fits, size_t told) noexcept {
  if (allocator.real_time.contains(block)) return release_in_region(block);
  if (block == nullptr) return;
  const size_t scaled_class = class_at(block);
  if (own_part != nullptr && scaled_class != 0) return defer_free(block);
  deallocate_ordinary(block, scaled_class, fits, told);
}

}  // namespace

// A block of the heap that the thread used last takes the short way; one of no such heap pays a load and a test.
void deallocate_slow(void* block, BlockOrigin fits, size_t told) noexcept {
  if (!allocator.user_heaps.are_used() || !release_in_last_cache(block)) deallocate_otherwise(block, fits, told);
}

void* allocate_slow(HeadStep step) noexcept { return refill(size_of_step(step)); }

template <BlockOrigin origin>
void* allocate_large(size_t size) noexcept {
  return allocate_beyond_heads(size, [size] { return allocate_without_class(size, origin); });
}

template void* allocate_large<BlockOrigin::kMalloc>(size_t) noexcept;
template void* allocate_large<BlockOrigin::kNew>(size_t) noexcept;
template void* allocate_large<BlockOrigin::kNewArray>(size_t) noexcept;

void* allocate_large_if_plain(size_t size) noexcept {
  return allocate_beyond_heads(size, [size] { return large_block_if_plain(size); });
}

void* allocate_uncached(size_t size) noexcept {
  if (!allocator.ensure_open()) return out_of_memory();
  if (allocator.is_checked()) {
    const ScopePause pause;
    return allocate_checked(size, BlockOrigin::kMalloc);
  }
  if (ThreadPart* const part = announced_part(); part != nullptr) return allocate_uncounted_in_part(part, size);
  if (size > allocator.table->max_size) return allocate_plain_large({.size = size});
  void* block = counted(insist_on_class(size, [size](size_t size_class) {
    ThreadCache* cache = thread_cache();
    if (allocator.profile.is_on()) [[unlikely]] {
      size_t most = 1;
      if (void* const sample = take_sample_before(size_class, size, &most); sample != nullptr) return sample;
    }
    return cache != nullptr ? cache->take_uncached(size_class) : allocator.registry.allocate_shared(size_class);
  }));
  allocator.maintain();
  return noted(block, size);
}

void deallocate_uncached(void* block) noexcept {
  const size_t scaled_class = class_at(block);
  ThreadCache* cache = thread_state.cache;
  if (scaled_class == 0 || cache == nullptr || own_part != nullptr) return deallocate_slow(block);
  ErrnoKeeper keeper;
  if (is_newest(head_of(relative_thread_state(), scaled_class), block)) die_of_misuse("free", block, kAlreadyFree);
  cache->give_uncached(scaled_class / kClassScale, block);
}

void* allocate_zeroed(size_t count, size_t size) {
  size_t bytes = 0;
  if (multiply_overflows(count, size, &bytes)) return out_of_memory();
  if (bytes > PTRDIFF_MAX) return out_of_memory();
  bool untouched = false;
  void* block;
  if (bytes <= kSmallSizeMax || !allocator.ensure_open()) {
    block = allocate(bytes);
  } else if (allocator.is_checked()) {
    return allocate_checked_zeroed(bytes);
  } else if (bytes > allocator.table->max_size) {
    block = allocate_large_in_scope({.size = bytes, .zeroed = true});
    untouched = !allocator.real_time.contains(block);
  } else if (!allocator.is_plain()) {  // a report, or the heap profile
    add_relative<1>(&relative_thread_state()->allocations);
    block = noted(refill(bytes, &untouched), bytes);
  } else {
    block = allocate_from(head_of(relative_thread_state(), scaled(allocator.table->class_of(bytes))),
                          [bytes, &untouched] { return refill(bytes, &untouched); });
  }
  if (block != nullptr && !untouched) memset(block, 0, bytes);
  return block;
}

void* allocate_aligned(size_t alignment, size_t size, BlockOrigin origin) noexcept {
  // Slabs are placed so that all blocks of a class are aligned if its block size is a multiple of the alignment: most
  // often that holds for malloc's own class for the size, rounded up.
  const size_t padded = round_up(size, alignment);
  if (allocator.is_plain()) [[likely]] {
    const ClassTable& table = *allocator.table;
    const bool has_class = size - 1 < table.max_size && padded <= table.max_size;
    const size_t size_class = has_class ? table.class_of(padded) : 0;
    if (has_class && is_aligned(table.classes[size_class].block_size, alignment)) [[likely]]
      return allocate_from(head_of(relative_thread_state(), scaled(size_class)),
                           [=] { return refill_aligned(alignment, size, padded); });
  }
  return allocate_aligned_otherwise(alignment, size, origin);
}

void* allocate_plain_aligned(size_t alignment, size_t size) {
  if (alignment <= kSmallStep) return allocate_plain(size);
  if (size > PTRDIFF_MAX) return out_of_memory();
  if (ThreadPart* const part = announced_part(); part != nullptr) {
    add_relative<1>(&relative_thread_state()->allocations);
    return allocate_aligned_in_part(part, alignment, size);
  }
  if (const size_t c = allocator.table->aligned_class_of(alignment, size); c != 0)
    return allocate_plain_of_class(c, size);
  return allocate_large_in_scope({.size = size == 0 ? 1 : size, .alignment = alignment});
}

size_t usable_size(const void* block, const char* call) {
  if (block == nullptr) return 0;
  if (const size_t scaled_class = class_at(block); scaled_class != 0)
    return allocator.table->classes[scaled_class / kClassScale].block_size;
  if (allocator.real_time.contains(block)) return usable_in_region(block, call);
  if (allocator.is_checked()) return checked_size(block, call);
  if (allocator.user_heaps.are_used())
    if (const size_t usable = usable_in_heap(block); usable != 0) return usable;
  if (allocator.guarded.contains(block)) return allocator.guarded.size_of(block, call);
  if (allocator.profile.has_been_on())
    if (const size_t sampled = sampled_size(block, call); sampled != 0) return sampled;
  const size_t bytes = allocator.is_open() ? allocator.large_blocks.usable_size(block) : 0;
  if (bytes == 0) die_of_misuse(call, block, kForeign);
  return bytes;
}

bool try_expand(void* block, size_t size, const char* call) {
  if (block == nullptr) return false;
  if (allocator.real_time.contains(block)) return expand_in_region(block, size, call);
  const size_t usable = usable_size(block, call);
  if (usable >= size) return true;
  // What else knows how long the block is: a note, a sample, a heap's record.
  if (allocator.is_checked() || allocator.profile.has_been_on() || heap_of(block) != nullptr) return false;
  return usable > allocator.table->max_size && allocator.large_blocks.expand(block, size);
}

bool is_in_heap(const void* address) {
  if (address == nullptr || !allocator.is_open()) return false;
  return plain_class_at(address) != 0 || heap_of(address) != nullptr || allocator.guarded.contains(address) ||
         allocator.real_time.contains(address) || allocator.profile.block_size_at(address) != 0 ||
         allocator.large_blocks.usable_size(address) != 0;
}

void empty_own_caches() {
  if (!allocator.is_open()) return;
  if (ThreadCache* const cache = thread_state.cache; cache != nullptr) cache->flush_all();
  allocator.user_heaps.flush_own();
  if (own_part != nullptr) own_part->collect_all();
  allocator.maintain_quietly();
}

void* move_from_slab(void* block, size_t usable, size_t size, const char* call) noexcept {
  if (size > PTRDIFF_MAX) return out_of_memory();
  check_start_in_slab(block, call);  // from a pointer into a block the copy would run into the next one
  return moved(block, usable, size);
}

void* resize_outside_slabs(void* block, size_t size, const char* call) noexcept {
  if (allocator.real_time.contains(block)) return resize_in_region(block, size, call);
  if (allocator.is_checked()) return resize_checked(block, size, call);
  if (void* resized; allocator.user_heaps.are_used() && resize_in_heap(block, size, &resized)) return resized;
  if (size > allocator.table->max_size && allocator.is_open() && allocator.large_blocks.fits(block, size)) return block;
  const size_t usable = usable_size(block, call);
  if (size > PTRDIFF_MAX) return out_of_memory();
  allocator.peak.look_as_due();
  if (allocator.profile.has_been_on() && sampled_size(block, call) != 0) {
    if (size > usable || usable - size > usable / 2) return moved(block, usable, size);
    set_sampled_size(block, size);
    return block;
  }
  if (size > allocator.table->max_size)
    if (void* resized = resize_large(block, size); resized != nullptr) {
      allocator.purge_kept_mappings();
      allocator.relieve_if_passed();
      return resized;
    }
  return moved(block, usable, size);
}

bool trim(size_t pad) {
  if (!allocator.is_open()) return false;
  allocator.peak.look_as_due();
  return give_back(pad, true);
}

size_t purge(size_t bytes) {
  if (!allocator.is_open()) return 0;
  allocator.peak.look_as_due();
  const size_t given = allocator.mappings.purge(0, bytes);
  return given >= bytes ? given : given + allocator.spans.purge(0, bytes - given);
}

void look_for_misuse_at_exit() noexcept {
  ThreadCache* cache = thread_state.cache;
  if (cache == nullptr || !cache->heap().is_at_rest() || !allocator.is_at_rest()) return;
  allocator.revocation.while_nobody_takes([cache] {
    const ThreadCache::Misused found = cache->look_for_misuse();
    if (found.block != nullptr) tell_misuse("free", found.block, found.reason, " (found as the process ends)");
  });
}

const char* check(bool all_caches) {
  if (!allocator.is_open()) return nullptr;
  const char* broken = allocator.spans.check();
  if (broken == nullptr) broken = allocator.mappings.check();
  if (broken == nullptr) broken = allocator.registry.check();
  if (broken == nullptr) broken = allocator.caches.check();
  if (broken == nullptr) broken = allocator.user_heaps.check();
  if (broken == nullptr) broken = allocator.real_time.check(all_caches);
  if (broken == nullptr) broken = allocator.profile.check();
  allocator.revocation.for_each_cache([&](const ThreadCache& cache) {
    if (broken == nullptr && (all_caches || &cache == thread_state.cache)) broken = cache.check();
  });
  return broken;
}

}  // namespace snug
