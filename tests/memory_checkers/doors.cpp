// doors.cpp: a program for each interface ("door") through which snug gives memory; it uses an element after its free.
//
//   doors list              the doors, one a line, each with the checkers that are told of it
//   doors DOOR ACT          well-behaved: nothing is used after it was freed
//                           read-first, read-last, write-first, write-last: of the first and the last word of what was
//                           freed
//
// It ends with status 0, unless a memory checker ends it.
#include <snug/allocator.h>
#include <snug/allocator_on.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "cell_doors.h"
#include "compact_doors.h"
#include "malloc_doors.h"
#include "pool_doors.h"

namespace {

// Containers and std::pmr on one heap of the caller's.
template <class Heap>
void allocator_on_door(Heap& heap) {
  allocator_door(snug::AllocatorOn<Object, Heap>(heap));
}
template <class Heap>
void resource_on_door(Heap& heap) {
  snug::ResourceOn<Heap> resource(heap);
  resource_door(resource);
}

// Which checkers learn what is free: docs/pools.md, docs/cell-heap.md and decision 0051 say why not all do.
enum class Told { kNobody, kAsan, kBoth };

struct Door {
  const char* name;
  Told told;
  void (*go)();
};

using snug::Checked, snug::Unchecked, snug::SingleThread, snug::Locked, snug::ThreadCached;
using UncheckedPool = snug::Pool<void>;
using CheckedPool = snug::Pool<void, SingleThread, Checked>;
using DebugHeap = snug::CellHeap<snug::DebugCellPolicy>;

// A heap of cells in a region that outlives it.
template <class Heap>
struct InRegion : Heap {
  alignas(16) static inline char memory[1 << 18];
  InRegion() { this->add_region(memory, sizeof memory); }
};

const Door doors[] = {
    {"malloc", Told::kBoth, malloc_door},
    {"aligned", Told::kBoth, aligned_door},
    {"free_sized", Told::kBoth, free_sized_door},
    {"free_aligned_sized", Told::kBoth, free_aligned_sized_door},
    {"realloc", Told::kBoth, realloc_door},
    {"malloc_uncached", Told::kBoth, uncached_door},
    {"batch", Told::kBoth, batch_door},
    {"pool", Told::kAsan, [] { pool_door(UncheckedPool(sizeof(Object))); }},
    {"pool_checked", Told::kBoth, [] { pool_door(CheckedPool(sizeof(Object))); }},
    {"pool_locked", Told::kAsan, [] { pool_door(snug::Pool<Object, Locked>()); }},
    {"pool_locked_checked", Told::kBoth, [] { pool_door(snug::Pool<Object, Locked, Checked>()); }},
    {"pool_cached", Told::kAsan, [] { pool_door(snug::Pool<Object, ThreadCached>()); }},
    {"pool_cached_checked", Told::kBoth, [] { pool_door(snug::Pool<Object, ThreadCached, Checked>()); }},
    {"pool_batch", Told::kAsan, [] { pool_batch_door(UncheckedPool(sizeof(Object))); }},
    {"pool_batch_checked", Told::kBoth, [] { pool_batch_door(CheckedPool(sizeof(Object))); }},
    {"pool_drop", Told::kAsan, [] { pool_drop_door(UncheckedPool(sizeof(Object))); }},
    {"pool_drop_checked", Told::kBoth, [] { pool_drop_door(CheckedPool(sizeof(Object))); }},
    {"pool_locked_batch", Told::kAsan, [] { pool_batch_door(snug::Pool<Object, Locked>()); }},
    {"pool_locked_batch_checked", Told::kBoth, [] { pool_batch_door(snug::Pool<Object, Locked, Checked>()); }},
    {"pool_cached_batch", Told::kAsan, [] { pool_batch_door(snug::Pool<Object, ThreadCached>()); }},
    {"pool_cached_batch_checked", Told::kBoth, [] { pool_batch_door(snug::Pool<Object, ThreadCached, Checked>()); }},
    {"pool_cached_drop", Told::kAsan, [] { pool_drop_door(snug::Pool<Object, ThreadCached>()); }},
    {"pool_cached_drop_checked", Told::kBoth, [] { pool_drop_door(snug::Pool<Object, ThreadCached, Checked>()); }},
    {"pool_release", Told::kBoth, [] { pool_release_door(UncheckedPool(sizeof(Object))); }},
    {"pool_release_checked", Told::kBoth, [] { pool_release_door(CheckedPool(sizeof(Object))); }},
    {"pooled", Told::kAsan, [] { pooled_door<Unchecked>(); }},
    {"pooled_checked", Told::kBoth, [] { pooled_door<Checked>(); }},
    {"allocator", Told::kBoth, [] { allocator_door<snug::Allocator<Object>>(); }},
    {"allocator_at_least", Told::kBoth, at_least_door},
    {"pool_allocator", Told::kAsan, [] { allocator_door<snug::PoolAllocator<Object>>(); }},
    {"pool_allocator_checked", Told::kBoth,
     [] { allocator_door<snug::PoolAllocator<Object, SingleThread, Checked>>(); }},
    {"pool_allocator_locked", Told::kAsan, [] { allocator_door<snug::PoolAllocator<Object, Locked>>(); }},
    {"pool_allocator_locked_checked", Told::kBoth,
     [] { allocator_door<snug::PoolAllocator<Object, Locked, Checked>>(); }},
    {"heap_resource", Told::kBoth, [] { resource_door(*snug::heap_resource()); }},
    {"pool_resource", Told::kBoth, [] { resource_door(*std::make_unique<snug::PoolResource>(snug::heap_resource())); }},
    {"pool_resource_synchronized", Told::kBoth,
     [] { resource_door(*std::make_unique<snug::SynchronizedPoolResource>()); }},
    {"pool_resource_release", Told::kBoth, resource_release_door<snug::PoolResource>},
    {"pool_resource_synchronized_release", Told::kBoth, resource_release_door<snug::SynchronizedPoolResource>},
    {"monotonic_rewind", Told::kBoth, rewind_door<snug::MonotonicResource>},
    {"monotonic_rewind_synchronized", Told::kBoth, rewind_door<snug::SynchronizedMonotonicResource>},
    {"monotonic_resource", Told::kBoth, monotonic_door<snug::MonotonicResource>},
    {"monotonic_resource_synchronized", Told::kBoth, monotonic_door<snug::SynchronizedMonotonicResource>},
    {"cell_heap", Told::kAsan, cell_door<snug::CellHeap<>>},
    {"cell_heap_checked", Told::kBoth, cell_door<DebugHeap>},
    {"cell_resize", Told::kAsan, cell_resize_door<snug::CellHeap<>>},
    {"cell_resize_checked", Told::kBoth, cell_resize_door<DebugHeap>},
    {"cell_heap_growing", Told::kAsan, cell_door<snug::CellHeap<snug::GrowingCellPolicy>>},
    {"cell_heap_locked", Told::kAsan, cell_door<snug::LockedCellHeap<>>},
    {"cell_heap_locked_checked", Told::kBoth, cell_door<snug::LockedCellHeap<DebugHeap>>},
    {"cell_heap_c", Told::kNobody, cell_c_door},
    {"compact_heap", Told::kBoth, compact_door<snug::CompactHeap>},
    {"compact_move", Told::kBoth, compact_move_door},
    {"compact_resize", Told::kBoth, compact_resize_door},
    {"compact_heap_one_lock", Told::kBoth, [] { compact_shared_door(snug::CompactLocks::kOne); }},
    {"compact_heap_classes", Told::kBoth, [] { compact_shared_door(snug::CompactLocks::kOfClasses); }},
    {"compact_heap_cores", Told::kBoth, [] { compact_shared_door(snug::CompactLocks::kOfCores); }},
    {"compact_heap_c", Told::kBoth, [] { compact_c_door(SNUG_COMPACT_ONE_THREAD); }},
    {"compact_heap_c_one_lock", Told::kBoth, [] { compact_c_door(SNUG_COMPACT_ONE_LOCK); }},
    {"compact_heap_c_classes", Told::kBoth, [] { compact_c_door(SNUG_COMPACT_CLASS_LOCKS); }},
    {"compact_heap_c_cores", Told::kBoth, [] { compact_c_door(SNUG_COMPACT_CORES); }},
    {"compact_heap_c_direct", Told::kBoth, direct_c_door},
    {"compact_heap_direct", Told::kBoth, direct_door},
    {"allocator_on_pool", Told::kAsan, [] { allocator_on_door(*std::make_unique<UncheckedPool>(sizeof(Object))); }},
    {"allocator_on_pool_checked", Told::kBoth,
     [] { allocator_on_door(*std::make_unique<CheckedPool>(sizeof(Object))); }},
    {"allocator_on_cells", Told::kAsan, [] { allocator_on_door(*std::make_unique<InRegion<snug::CellHeap<>>>()); }},
    {"allocator_on_cells_checked", Told::kBoth, [] { allocator_on_door(*std::make_unique<InRegion<DebugHeap>>()); }},
    {"allocator_on_cells_locked", Told::kAsan,
     [] { allocator_on_door(*std::make_unique<InRegion<snug::LockedCellHeap<>>>()); }},
    {"allocator_on_direct", Told::kBoth, [] { allocator_on_door(*std::make_unique<snug::DirectCompactHeap>()); }},
    {"resource_on_pool", Told::kAsan, [] { resource_on_door(*std::make_unique<UncheckedPool>(sizeof(Object))); }},
    {"resource_on_pool_checked", Told::kBoth, [] { resource_on_door(*std::make_unique<CheckedPool>(sizeof(Object))); }},
    {"resource_on_cells", Told::kAsan, [] { resource_on_door(*std::make_unique<InRegion<snug::CellHeap<>>>()); }},
    {"resource_on_cells_checked", Told::kBoth, [] { resource_on_door(*std::make_unique<InRegion<DebugHeap>>()); }},
    {"resource_on_direct", Told::kBoth, [] { resource_on_door(*std::make_unique<snug::DirectCompactHeap>()); }},
};

int usage() {
  std::fputs("usage: doors list | doors DOOR well-behaved|read-first|read-last|write-first|write-last\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "list") == 0) {
    const char* const told[] = {"", " asan", " asan memcheck"};
    for (const Door& door : doors) std::printf("%s%s\n", door.name, told[static_cast<int>(door.told)]);
    return 0;
  }
  if (count != 3) return usage();
  const char* const acts[] = {"well-behaved", "read-first", "read-last", "write-first", "write-last"};
  int chosen = 0;
  while (chosen < 5 && std::strcmp(words[2], acts[chosen]) != 0) ++chosen;
  if (chosen == 5) return usage();
  act = static_cast<Act>(chosen);
  for (const Door& door : doors) {
    if (std::strcmp(words[1], door.name) != 0) continue;
    door.go();
    return 0;
  }
  return usage();
}
