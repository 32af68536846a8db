// doors.cpp: a program for each door through which snug gives memory, that uses an element after it was freed.
//
//   doors list              the doors, one a line, each with the checkers that are told of it
//   doors DOOR ACT          well-behaved: nothing is used after it was freed
//                           read-first, read-last, write-first, write-last: of the first and the last word of what was
//                           freed
//
// It ends with status 0, unless a memory checker ends it.
#include <snug/allocator.h>
#include <snug/allocator_on.h>
#include <snug/cell/locked_cell_heap.h>
#include <snug/cell_heap.h>
#include <snug/cell_heap_c.h>
#include <snug/compact/direct_compact_heap.h>
#include <snug/compact/shared_compact_heap.h>
#include <snug/compact_heap.h>
#include <snug/compact_heap_c.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>
#include <snug/resource.h>
#include <snug/snug.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "use_after_free.h"

namespace {

void malloc_door() {
  unsigned calls = 0;
  go_through(
      [&]() -> void* {
        if (++calls % 3 == 0) return snug_aligned_alloc(64, sizeof(Object));
        if (calls % 3 == 1) return snug_realloc(snug_calloc(2, 8), sizeof(Object));
        return snug_malloc(sizeof(Object));
      },
      snug_free);
  // More than the quarantine holds, of sizes from small blocks to mappings of their own.
  for (size_t size = 1; size < (size_t{4} << 20); size += size / 3 + 1) {
    for (unsigned i = 0; i < 8; ++i) {
      auto* const zeroed = static_cast<char*>(snug_calloc(1, size));
      for (size_t byte = 0; byte < size; byte += 64) {
        if (zeroed[byte] != 0) std::puts("not zero");
      }
      auto* const longer = static_cast<char*>(snug_realloc(zeroed, size + size / 2));
      std::memset(longer, 1, size + size / 2);
      snug_free(longer);
    }
  }
  if (snug_check(0) != nullptr) std::puts("unsound");
  snug_malloc_trim(0);
}

void uncached_door() {
  go_through([] { return snug_malloc_uncached(sizeof(Object)); }, snug_free_uncached);
}

void batch_door() {
  void* blocks[100];
  for (unsigned round = 0; round < 3; ++round) {
    if (snug_malloc_batch(sizeof(Object), blocks, 100) != 100) std::puts("no memory");
    for (void* const block : blocks) std::memset(block, 1, sizeof(Object));
    snug_free_batch(blocks, 100);
  }
  use_after_free(blocks[50]);
}

template <class TestedPool>
void pool_door(TestedPool&& pool) {
  go_through([&] { return pool.allocate(); }, [&](void* element) { pool.deallocate(element); });
  if (pool.check() != nullptr) std::puts("unsound");
  static_cast<void>(pool.stats());
  pool.for_each_live([](auto&&) {});
  pool.release_unused();
  void* elements[100];
  const std::size_t got = pool.allocate_batch(elements);
  pool.drop_all();
  const std::size_t again = pool.allocate_batch(elements);
  if (got != 100 || again != 100) std::puts("no memory");
  pool.deallocate_batch(elements);
}

// What many elements at once go back by: a batch, or a drop of all.
template <class TestedPool>
void pool_batch_door(TestedPool&& pool) {
  void* elements[100];
  if (pool.allocate_batch(elements) != 100) std::puts("no memory");
  for (void* const element : elements) std::memset(element, 1, sizeof(Object));
  pool.deallocate_batch(elements);
  use_after_free(elements[50]);
}
template <class TestedPool>
void pool_drop_door(TestedPool&& pool) {
  void* elements[100];
  if (pool.allocate_batch(elements) != 100) std::puts("no memory");
  for (void* const element : elements) std::memset(element, 1, sizeof(Object));
  pool.drop_all();
  use_after_free(elements[50]);
}

template <class Checks>
void pooled_door() {
  struct Node : snug::Pooled<Node, snug::SingleThread, Checks> {
    volatile long words[kWords];
  };
  go_through([] { return static_cast<void*>(new Node); }, [](void* node) { delete static_cast<Node*>(node); });
}

template <class Allocator>
void allocator_door(Allocator allocator = {}) {
  go_through([&] { return static_cast<void*>(allocator.allocate(1)); },
             [&](void* memory) { allocator.deallocate(static_cast<Object*>(memory), 1); });
}

void resource_door(std::pmr::memory_resource& resource) {
  go_through([&] { return resource.allocate(sizeof(Object)); },
             [&](void* memory) { resource.deallocate(memory, sizeof(Object)); });
}

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

template <class Resource>
void monotonic_door() {
  alignas(16) static char buffer[4096];
  {
    Resource resource(buffer, sizeof buffer);
    void* const first = resource.allocate(sizeof(Object));
    std::memset(first, 0, sizeof(Object));
    for (unsigned i = 0; i < 1000; ++i) std::memset(resource.allocate(48), 1, 48);
    resource.release();
    use_after_free(first);
    std::memset(resource.allocate(48), 1, 48);
    const auto mark = resource.mark();
    for (unsigned i = 0; i < 1000; ++i) std::memset(resource.allocate(48), 1, 48);
    resource.rewind(mark);
    std::memset(resource.allocate(48), 1, 48);
  }
  std::memset(buffer, 0, sizeof buffer);  // the caller's own again
}

template <class Heap>
void cell_door() {
  alignas(16) static char memory[1 << 18];
  {
    Heap heap;
    heap.add_region(memory, sizeof memory);
    unsigned calls = 0;
    go_through(
        [&]() -> void* {
          if (++calls % 3 == 0) return heap.allocate_aligned(64, sizeof(Object));
          if (calls % 3 == 1) return heap.allocate(sizeof(Object));
          void* const block = heap.allocate(16);
          void* const longer = heap.resize(block, 400);
          std::memset(longer, 1, 400);
          return heap.resize_in_place(longer, sizeof(Object)) ? longer : nullptr;
        },
        [&](void* block) { heap.deallocate(block); });
    if (heap.check() != nullptr) std::puts("unsound");
    static_cast<void>(heap.statistics());
    static_cast<void>(heap.release_unused());
  }
  std::memset(memory, 0, sizeof memory);  // the caller's own again
}

void cell_c_door() {
  alignas(16) static char memory[1 << 18];
  snug_cell_heap* const heap = snug_cell_heap_create(memory, sizeof memory);
  go_through([&] { return snug_cell_malloc(heap, sizeof(Object)); }, [&](void* block) { snug_cell_free(heap, block); });
  if (snug_cell_check(heap) != nullptr) std::puts("unsound");
  std::memset(memory, 0, sizeof memory);  // the caller's own again
}

struct Point {
  volatile long words[kWords];
};

template <class Heap>
void compact_door() {
  Heap heap;
  std::vector<snug::Handle<Point>> points;
  for (int i = 0; i < 3000; ++i) points.push_back(heap.template make<Point>());
  Point* const newest = heap.get(points.back());
  heap.destroy(points.back());
  use_after_free(newest);
  // The block that has moved into the hole is where it was no longer.
  const snug::Handle<Point> last = points[points.size() - 2];
  Point* const before = heap.get(last);
  heap.destroy(points.front());
  heap.destroy(points[1]);
  if (heap.get(last) != before) use_after_free(before);
  for (size_t i = 2; i < 2999; ++i) heap.get(points[i])->words[0] = 1;
}

// What is freed is used outside of the section in which it was found.
void compact_shared_door(snug::CompactLocks locks) {
  snug::SharedCompactHeap heap({}, locks);
  snug::CompactReader reader(heap);
  std::vector<snug::Handle<Point>> points;
  Point* freed = nullptr;
  {
    const snug::SharedSection section(reader);
    for (int i = 0; i < 3000; ++i) points.push_back(section.make<Point>());
    freed = section.get(points.back());
    section.destroy(points.back());
  }
  use_after_free(freed);
  const snug::SharedSection section(reader);
  for (size_t i = 0; i < 2999; ++i) section[points[i]].words[0] = 1;
}

void compact_c_door(snug_compact_sharing sharing) {
  snug_compact_options options{};
  options.sharing = sharing;
  snug_compact_heap* const heap = snug_compact_create(&options);
  std::vector<snug_handle> handles;
  for (int i = 0; i < 3000; ++i) handles.push_back(snug_compact_alloc(heap, sizeof(Object), 0));
  void* const freed = snug_compact_deref(heap, handles.back());
  snug_compact_free(heap, handles.back());
  use_after_free(freed);
  snug_compact_destroy(heap);
}

void direct_door() {
  snug::DirectCompactHeap heap;
  go_through([&] { return heap.allocate(sizeof(Object)); }, [&](void* block) { heap.deallocate(block); });
  if (heap.check() != nullptr) std::puts("unsound");
}

// Who is told of what is free: docs/pools.md, docs/cell-heap.md and decision 0051 say why not all are.
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
    {"pooled", Told::kAsan, [] { pooled_door<Unchecked>(); }},
    {"pooled_checked", Told::kBoth, [] { pooled_door<Checked>(); }},
    {"allocator", Told::kBoth, [] { allocator_door<snug::Allocator<Object>>(); }},
    {"pool_allocator", Told::kAsan, [] { allocator_door<snug::PoolAllocator<Object>>(); }},
    {"pool_allocator_checked", Told::kBoth,
     [] { allocator_door<snug::PoolAllocator<Object, SingleThread, Checked>>(); }},
    {"heap_resource", Told::kBoth, [] { resource_door(*snug::heap_resource()); }},
    {"pool_resource", Told::kBoth, [] { resource_door(*std::make_unique<snug::PoolResource>(snug::heap_resource())); }},
    {"pool_resource_synchronized", Told::kBoth,
     [] { resource_door(*std::make_unique<snug::SynchronizedPoolResource>()); }},
    {"monotonic_resource", Told::kBoth, monotonic_door<snug::MonotonicResource>},
    {"monotonic_resource_synchronized", Told::kBoth, monotonic_door<snug::SynchronizedMonotonicResource>},
    {"cell_heap", Told::kAsan, cell_door<snug::CellHeap<>>},
    {"cell_heap_checked", Told::kBoth, cell_door<DebugHeap>},
    {"cell_heap_growing", Told::kAsan, cell_door<snug::CellHeap<snug::GrowingCellPolicy>>},
    {"cell_heap_locked", Told::kAsan, cell_door<snug::LockedCellHeap<>>},
    {"cell_heap_locked_checked", Told::kBoth, cell_door<snug::LockedCellHeap<DebugHeap>>},
    {"cell_heap_c", Told::kNobody, cell_c_door},
    {"compact_heap", Told::kBoth, compact_door<snug::CompactHeap>},
    {"compact_heap_one_lock", Told::kBoth, [] { compact_shared_door(snug::CompactLocks::kOne); }},
    {"compact_heap_classes", Told::kBoth, [] { compact_shared_door(snug::CompactLocks::kOfClasses); }},
    {"compact_heap_cores", Told::kBoth, [] { compact_shared_door(snug::CompactLocks::kOfCores); }},
    {"compact_heap_c", Told::kBoth, [] { compact_c_door(SNUG_COMPACT_ONE_THREAD); }},
    {"compact_heap_direct", Told::kBoth, direct_door},
    {"allocator_on_pool", Told::kAsan, [] { allocator_on_door(*std::make_unique<UncheckedPool>(sizeof(Object))); }},
    {"allocator_on_pool_checked", Told::kBoth,
     [] { allocator_on_door(*std::make_unique<CheckedPool>(sizeof(Object))); }},
    {"allocator_on_cells", Told::kAsan, [] { allocator_on_door(*std::make_unique<InRegion<snug::CellHeap<>>>()); }},
    {"allocator_on_cells_checked", Told::kBoth, [] { allocator_on_door(*std::make_unique<InRegion<DebugHeap>>()); }},
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
