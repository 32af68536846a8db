#include "planted_faults.h"

#include <cstdint>
#include <cstring>

namespace snug::model {

namespace {

// Rare enough that a program must run a while, often enough that a random one of a few thousand steps gets there.
constexpr unsigned kPeriod = 200;

bool due(unsigned* count) { return ++*count % kPeriod == 0; }

void* dirty_calloc(size_t count_asked, size_t size) {
  static unsigned count = 0;
  char* const block = static_cast<char*>(snug_calloc(count_asked, size));
  if (due(&count) && count_asked * size > 0) block[count_asked * size - 1] = 1;
  return block;
}

void* forgetful_realloc(void* block, size_t size) {
  static unsigned count = 0;
  char* const moved = static_cast<char*>(snug_realloc(block, size));
  if (block != nullptr && due(&count) && size >= 8) std::memset(moved, 0, 8);
  return moved;
}

// The newest block of malloc, while it lives: the one that the heap below will write into, or hand out twice.
char* newest = nullptr;

void* late_writing_malloc(size_t size) {
  static unsigned count = 0;
  char* const block = static_cast<char*>(snug_malloc(size));
  if (due(&count) && newest != nullptr && newest != block) *newest = static_cast<char>(~*newest);
  if (size > 0) newest = block;
  return block;
}

void newest_forgetting_free(void* block) {
  if (block == newest) newest = nullptr;
  snug_free(block);
}

void newest_forgetting_free_sized(void* block, size_t) { newest_forgetting_free(block); }
void newest_forgetting_free_aligned_sized(void* block, size_t, size_t) { newest_forgetting_free(block); }

void* newest_forgetting_realloc(void* block, size_t size) {
  if (block == newest) newest = nullptr;
  return snug_realloc(block, size);
}

// Hands out the newest block a second time.
void* overlapping_malloc(size_t size) {
  static unsigned count = 0;
  if (++count >= kPeriod && newest != nullptr && snug_malloc_usable_size(newest) >= size) return newest;
  char* const block = static_cast<char*>(snug_malloc(size));
  newest = block;
  return block;
}

void* misaligned_aligned_alloc(size_t alignment, size_t size) {
  static unsigned count = 0;
  if (++count >= kPeriod) {
    void* const block = snug_malloc(size);
    if (reinterpret_cast<uintptr_t>(block) % alignment != 0) return block;
    snug_free(block);
  }
  return snug_aligned_alloc(alignment, size);
}

size_t shrinking_usable_size(void* block) {
  static unsigned count = 0;
  const size_t usable = snug_malloc_usable_size(block);
  return ++count % 5000 == 0 ? usable - 1 : usable;
}

void* short_malloc(size_t size) {
  static unsigned count = 0;
  return snug_malloc(size > 64 && due(&count) ? size / 4 : size);
}

void* failing_malloc(size_t size) {
  static unsigned count = 0;
  return due(&count) ? nullptr : snug_malloc(size);
}

size_t repeating_batch(size_t size, void** blocks, size_t count) {
  const size_t got = snug_malloc_batch(size, blocks, count);
  if (got > 2) {
    snug_free(blocks[1]);
    blocks[1] = blocks[got - 1];
  }
  return got;
}

void leaking_free_uncached(void* block) {
  static unsigned count = 0;
  if (++count % 20 != 0) snug_free_uncached(block);
}

size_t eager_should_move_batch(void* const* blocks, size_t count, unsigned char* answers) {
  snug_should_move_batch(blocks, count, answers);
  return count;
}

void forgetful_batch(void* const* blocks, size_t count) { snug_free_batch(blocks, count < 2 ? count : count - 1); }

int forgetful_stats(snug_stats* stats) {
  static unsigned count = 0;
  const int result = snug_get_stats(stats);
  if (due(&count)) ++stats->blocks_in_use;
  return result;
}

int rounding_stats(snug_stats* stats) {
  static unsigned count = 0;
  const int result = snug_get_stats(stats);
  if (due(&count)) stats->bytes_in_use += 16;
  return result;
}

int overcounting_stats(snug_stats* stats) {
  const int result = snug_get_stats(stats);
  stats->allocations *= 2;
  return result;
}

void leaking_free(void* block) {
  static unsigned count = 0;
  if (!due(&count)) snug_free(block);
}

const char* complaining_check(int all_heaps) {
  static unsigned count = 0;
  return due(&count) ? "a planted broken invariant" : snug_check(all_heaps);
}

void crashing_free(void* block) {
  static unsigned count = 0;
  if (due(&count)) __builtin_trap();
  snug_free(block);
}

void forget_newest(AllocatorUnderTest& heap) {
  heap.free = newest_forgetting_free;
  heap.free_uncached = newest_forgetting_free;
  heap.free_sized = newest_forgetting_free_sized;
  heap.free_aligned_sized = newest_forgetting_free_aligned_sized;
  heap.realloc = newest_forgetting_realloc;
}

template <typename Change>
AllocatorUnderTest altered(Change change) {
  AllocatorUnderTest heap = snug_under_test();
  change(heap);
  return heap;
}

}  // namespace

std::vector<PlantedFault> planted_faults() {
  using Heap = AllocatorUnderTest;
  return {
      {"none", "", snug_under_test()},
      {"Overlap", "overlaps live", altered([](Heap& h) {
         h.malloc = overlapping_malloc;
         forget_newest(h);
       })},
      {"Misaligned", "is misaligned", altered([](Heap& h) { h.aligned_alloc = misaligned_aligned_alloc; })},
      {"DirtyCalloc", "is not zero", altered([](Heap& h) { h.calloc = dirty_calloc; })},
      {"ForgetfulRealloc", "lost the contents", altered([](Heap& h) { h.realloc = forgetful_realloc; })},
      {"LateWrite", "was overwritten", altered([](Heap& h) {
         h.malloc = late_writing_malloc;
         forget_newest(h);
       })},
      {"ChangingUsableSize", "usable size of a live block changed",
       altered([](Heap& h) { h.usable_size = shrinking_usable_size; })},
      {"TooSmall", "is smaller than asked", altered([](Heap& h) { h.malloc = short_malloc; })},
      {"NullMalloc", "a null block", altered([](Heap& h) { h.malloc = failing_malloc; })},
      {"BlockCount", "blocks_in_use is", altered([](Heap& h) { h.get_stats = forgetful_stats; })},
      {"ByteCount", "bytes_in_use is", altered([](Heap& h) { h.get_stats = rounding_stats; })},
      {"AllocationCount", "allocations is", altered([](Heap& h) { h.get_stats = overcounting_stats; })},
      {"Leak", "blocks_in_use is", altered([](Heap& h) { h.free = leaking_free; })},
      {"BatchOverlap", "overlaps live", altered([](Heap& h) { h.malloc_batch = repeating_batch; })},
      {"BatchLeak", "blocks_in_use is", altered([](Heap& h) { h.free_batch = forgetful_batch; })},
      {"MoveLeak", "blocks_in_use is", altered([](Heap& h) { h.free_uncached = leaking_free_uncached; })},
      {"MoveMiscount", "should_move_batch says 5",
       altered([](Heap& h) { h.should_move_batch = eager_should_move_batch; })},
      {"MoveNull", "a null block",
       altered([](Heap& h) { h.malloc_uncached = [](size_t) -> void* { return nullptr; }; })},
      {"BrokenInvariant", "a planted broken invariant", altered([](Heap& h) { h.check = complaining_check; })},
      {"Crash", "died of signal", altered([](Heap& h) { h.free = crashing_free; })},
  };
}

}  // namespace snug::model
