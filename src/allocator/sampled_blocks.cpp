#include "allocator/sampled_blocks.h"

#include "allocator/refill.h"
#include "base/algorithm.h"
#include "base/errno_keeper.h"
#include "base/fatal.h"
#include "checked/call_stack.h"
#include "os/clock.h"
#include "os/uncancelled.h"
#include "thread/head_table.h"
#include "thread/thread_cache.h"
#include "unwind/known_rules.h"
#include "unwind/stack_walk.h"

namespace snug {
namespace {

constinit unwind::KnownRules<11> known_rules;

// The calling thread's trays; null at its very end, and without memory.
Trays* calling_trays() {
  ThreadCache* const cache = thread_state.cache;
  return cache != nullptr ? cache->trays() : nullptr;
}

// The same, if the thread may take a sample now: inside of a hook it takes none.
Trays* trays_for_sample() {
  Trays* const trays = calling_trays();
  return trays != nullptr && !trays->is_inside ? trays : nullptr;
}

// Called behind a hook, which may have ended the thread's cache, or forked: its trays may be others by now.
void leave_hook() {
  if (Trays* const trays = calling_trays(); trays != nullptr) trays->is_inside = false;
}

void tell_freed(const Sample& was) {
  if (was.tag == 0 || was.sampler->freed == nullptr) return;
  ErrnoKeeper keeper;
  Trays* const trays = trays_for_sample();
  if (trays != nullptr) trays->is_inside = true;
  const os::Uncancelled uncancelled;
  was.sampler->freed(was.sampler->context, was.tag, const_cast<void*>(was.block));
  if (trays != nullptr) leave_hook();
}

// Keeps a sample of a new block, and tells the program's hooks. Not inline: no other path needs room for the stack.
SNUG_NOINLINE void keep_sample(void* block, size_t size, double weight, const void* frame) {
  ErrnoKeeper keeper;
  trays_for_sample()->is_inside = true;
  Sample sample;
  sample.block = block;
  sample.size = size;
  sample.weight = weight;
  sample.thread = calling_thread();
  sample.milliseconds = os::milliseconds();
  const snug_sampler* const sampler = allocator.profile.sampler();
  if (sampler != nullptr && sampler->sampled != nullptr) {
    const snug_sample told{block, size, weight};
    const os::Uncancelled uncancelled;  // or the block would be lost
    sample.tag = sampler->sampled(sampler->context, &told);
    sample.sampler = sampler;
  }
  SampledStack stack;
  stack.count =
      unwind::walk_stack(frame, stack.frames, SampledStack::kMost, known_rules, unwind::ReadableStack::kNoEpoch).count;
  allocator.profile.strip(stack);
  if (!allocator.profile.add(sample, stack)) tell_freed(sample);  // no memory for it: the free would not find it
  leave_hook();
}

SNUG_NOINLINE void* sampled_block(size_t size_class, size_t size, const void* frame) {
  void* const block = allocator.profile.take_block(size_class);
  if (block == nullptr) return nullptr;
  const size_t bytes = allocator.table->classes[size_class].block_size;
  keep_sample(block, min(size, bytes), allocator.profile.distance().weight_of(bytes), frame);
  return block;
}

// The count has run down, or was not drawn yet: then this block is the first of the new one. True if it is the sample.
SNUG_NOINLINE bool draw_next(Trays& trays, size_t size_class) {
  uint32_t& left = trays.left[size_class];
  const SampleDistance distance = allocator.profile.distance();
  const size_t bytes = allocator.table->classes[size_class].block_size;
  if (left == 0) left = distance.draw_blocks(trays.random, bytes);
  if (left-- != 1) return false;
  left = distance.draw_blocks(trays.random, bytes);
  return true;
}

// Counts one block of the class. True if it is the sample; then the next one is drawn.
SNUG_ALWAYS_INLINE bool counts_as_sample(Trays& trays, size_t size_class) {
  uint32_t& left = trays.left[size_class];
  if (left > 1) [[likely]] {
    --left;
    return false;
  }
  return draw_next(trays, size_class) && !trays.is_inside;
}

}  // namespace

void* take_as_sampled(size_t size_class, size_t size) noexcept {
  Trays* const trays = calling_trays();
  if (trays == nullptr) return nullptr;
  void* block;
  // A request that was led past a tray, as calloc's, finds it loaded: its blocks are counted.
  const size_t tray = tray_of(*allocator.table, size_class);
  if (tray != 0 && pop(head_of(relative_thread_state(), scaled(tray)), &block)) return block;
  if (counts_as_sample(*trays, size_class)) [[unlikely]]
    if (void* const sample = sampled_block(size_class, size, SNUG_FRAME_ADDRESS()); sample != nullptr) return sample;
  if (!pop(head_of(relative_thread_state(), scaled(size_class)), &block)) return nullptr;
  uint32_t& left = trays->left[size_class];
  left -= static_cast<uint32_t>(thread_state.cache->load_tray(size_class, left - 1));
  return block;
}

void* take_sample_before(size_t size_class, size_t size, size_t* most) noexcept {
  Trays* const trays = calling_trays();
  if (trays == nullptr) return nullptr;
  if (counts_as_sample(*trays, size_class))
    if (void* const block = sampled_block(size_class, size, SNUG_FRAME_ADDRESS()); block != nullptr) return block;
  uint32_t& left = trays->left[size_class];
  *most = min(*most, size_t{left});  // one is counted already
  left -= static_cast<uint32_t>(*most - 1);
  return nullptr;
}

void* note_large(void* block, size_t size) noexcept {
  if (block == nullptr || !allocator.profile.is_on()) return block;
  thread_cache();  // a thread's first block may be a large one
  Trays* const trays = trays_for_sample();
  const SampleDistance distance = allocator.profile.distance();
  if (trays != nullptr && distance.draw_lone(trays->random, size))
    keep_sample(block, size, distance.weight_of(size), SNUG_FRAME_ADDRESS());
  return block;
}

bool release_sampled(void* block, const char* call) noexcept {
  const bool is_small = sampled_size(block, call) != 0;
  Sample was;
  if (allocator.profile.remove(block, &was)) tell_freed(was);
  if (is_small) allocator.profile.give_block(block);
  return is_small;
}

size_t sampled_size(const void* block, const char* call) noexcept {
  switch (allocator.profile.look_up(block)) {
    case HeapProfile::Place::kElsewhere:
      return 0;
    case HeapProfile::Place::kBlock:
      return allocator.profile.block_size_at(block);
    case HeapProfile::Place::kFree:
      die_of_misuse(call, block, kAlreadyFree);
    case HeapProfile::Place::kInside:
      die_of_misuse(call, block, kInterior);
  }
  return 0;
}

void* resize_large_sampled(void* block, size_t size) noexcept {
  const size_t before = allocator.large_blocks.usable_size(block);
  // The address may be another thread's block as soon as the block has left it: its sample goes first.
  Sample was;
  const bool is_sample = allocator.profile.remove(block, &was);
  void* const resized = allocator.large_blocks.resize(block, size);
  const bool stays = resized == block && allocator.large_blocks.usable_size(resized) == before;
  const bool is_drawn_anew = resized != nullptr && !stays && allocator.profile.is_on();
  if (is_sample && !is_drawn_anew) {
    if (resized != nullptr) was.block = resized;
    if (resized != nullptr) was.size = size;
    if (!allocator.profile.put_back(was)) tell_freed(was);
  }
  if (is_drawn_anew) {
    if (is_sample) tell_freed(was);
    note_large(resized, size);
  }
  return resized;
}

void set_sampled_size(const void* block, size_t size) noexcept {
  Sample was;
  if (!allocator.profile.remove(block, &was)) return;
  was.size = size;
  if (!allocator.profile.put_back(was)) tell_freed(was);
}

}  // namespace snug
