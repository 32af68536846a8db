#include "allocator/real_time_blocks.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "allocator/blocks.h"
#include "allocator/plain_blocks.h"
#include "allocator/refill.h"
#include "allocator/refusal.h"
#include "base/algorithm.h"
#include "base/at_a_time.h"
#include "base/fatal.h"
#include "os/thread.h"
#include "slab/slab.h"

namespace snug {
namespace {

// Of kAtATime blocks each. The first are twice the most that a slow operation hands out: where one thread allocates
// what another with deadlines frees, none stay behind.
constexpr uint32_t kRounds = 2 * ThreadCache::kMostBatch / kAtATime;
constexpr uint32_t kManyRounds = 1 << 16;

// With profile_rt: the thread has left, or been refused, and stays what it is.
SNUG_INITIAL_EXEC constinit thread_local bool stays_ordinary = false;

// The part in which an address lies; ends the process if there is none.
ThreadPart& part_of(const void* block, const char* call) {
  ThreadPart* const part = allocator.real_time.part_at(block);
  if (part == nullptr) [[unlikely]]
    die_of_misuse(call, block, kForeign);
  return *part;
}

SNUG_COLD void* refused() {
  add_relative<-1>(&relative_thread_state()->allocations);
  return out_of_memory();
}

}  // namespace

// The thread's cache is shut, so that its malloc and free take their slow paths.
int announce_thread(size_t bytes) {
  if (!allocator.ensure_open()) return ENOMEM;
  if (allocator.is_checked()) return 0;
  ThreadCache* const cache = thread_cache();
  if (cache == nullptr) return ENOMEM;
  if (const int error = allocator.real_time.enter(bytes); error != 0) return error;
  if (scope_heap == nullptr) cache->close();
  return 0;
}

int dismiss_thread() {
  if (allocator.is_checked()) return 0;
  if (own_part == nullptr) return EINVAL;
  stays_ordinary = true;
  allocator.real_time.leave();
  if (ThreadCache* const cache = thread_state.cache; cache != nullptr && scope_heap == nullptr) cache->reopen();
  allocator.maintain_quietly();
  return 0;
}

// What announcing allocates is ordinary.
ThreadPart* announce_by_policy() {
  if (stays_ordinary || thread_state.ended || !os::is_real_time()) return nullptr;
  stays_ordinary = true;
  stays_ordinary = announce_thread(0) != 0;
  return own_part;
}

void* allocate_in_part(ThreadPart* part, size_t size) noexcept {
  void* const block = part->allocate(size);
  return block != nullptr ? block : refused();
}

void* allocate_uncounted_in_part(ThreadPart* part, size_t size) noexcept {
  add_relative<1>(&relative_thread_state()->allocations);
  return allocate_in_part(part, size);
}

void* allocate_aligned_in_part(ThreadPart* part, size_t alignment, size_t size) noexcept {
  void* const block = part->allocate_aligned(alignment, size);
  return block != nullptr ? block : refused();
}

void release_in_region(void* block) noexcept {
  ThreadPart& part = part_of(block, "free");
  if (&part == own_part)
    part.release(block);
  else
    part.send(block);
}

size_t usable_in_region(const void* block, const char* call) { return part_of(block, call).usable_size(block, call); }

bool expand_in_region(void* block, size_t size, const char* call) {
  ThreadPart& part = part_of(block, call);
  if (part.usable_size(block, call) >= size) return true;
  return &part == own_part && part.resize_in_place(block, size);
}

void* resize_in_region(void* block, size_t size, const char* call) noexcept {
  ThreadPart& part = part_of(block, call);
  const size_t usable = part.usable_size(block, call);
  if (&part == own_part ? part.resize_in_place(block, size) : size <= usable && usable - size <= usable / 2)
    return block;
  if (size > PTRDIFF_MAX) return out_of_memory();
  const ScopePause pause;  // what an announced thread moves stays in the region
  const Wish wish(size <= usable);
  void* const fresh = allocate(size);
  if (fresh == nullptr) return size <= usable ? block : nullptr;
  memcpy(fresh, block, min(size, usable));
  release_in_region(block);
  return fresh;
}

void defer_free(void* block) noexcept {
  check_start_in_slab(block, "free");
  allocator.deferred.add(block);
}

void Allocator::free_deferred() {
  if (own_part != nullptr) return;  // it would leave them to others again
  for (uint32_t left = kRounds; left != 0 && deferred.has_any(); --left)
    if (deferred.free_some([](void* block) { deallocate(block); }) == 0) return;
}

void Allocator::take_deferred_home() {
  const auto take_home = [](void* block) { allocator.registry.take_home(class_at(block) / kClassScale, block); };
  for (uint32_t left = kManyRounds; left != 0 && deferred.has_any(); --left)
    if (deferred.free_some(take_home) == 0) return;
}

}  // namespace snug
