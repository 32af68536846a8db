// doors.cpp: a program for each door through which snug gives memory, that uses an element after it was freed.
//
//   doors list              the doors, one a line
//   doors DOOR ACT          well-behaved: nothing is used after it was freed
//                           read-first, read-last, write-first, write-last: of the first and the last word of what was
//                           freed
//
// It ends with status 0, unless a memory checker ends it.
#include <snug/allocator.h>
#include <snug/cell/locked_cell_heap.h>
#include <snug/cell_heap.h>
#include <snug/compact_heap.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>
#include <snug/resource.h>
#include <snug/snug.h>

#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr size_t kWords = 6;  // of what each door is asked for
struct Object {
  volatile long words[kWords];
};

enum class Act { kNone, kReadFirst, kReadLast, kWriteFirst, kWriteLast };
Act act = Act::kNone;

// The compiler does not know that it was freed.
void use_after_free(void* freed) {
  void* volatile hidden = freed;
  volatile long* const words = static_cast<Object*>(hidden)->words;
  switch (act) {
    case Act::kNone:
      break;
    case Act::kReadFirst:
      if (words[0] == 1) std::puts("1");
      break;
    case Act::kReadLast:
      if (words[kWords - 1] == 1) std::puts("1");
      break;
    case Act::kWriteFirst:
      words[0] = 1;
      break;
    case Act::kWriteLast:
      words[kWords - 1] = 1;
      break;
  }
}

// Blocks come and go for a while; then one that is free is used.
template <class Take, class Give>
void go_through(Take take, Give give) {
  std::vector<void*> live;
  const auto add = [&] {
    void* const block = take();
    for (size_t i = 0; i < kWords; ++i) static_cast<Object*>(block)->words[i] = static_cast<long>(i);
    live.push_back(block);
  };
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 300; ++i) add();
    for (size_t i = 0; i < live.size(); i += 2) std::swap(live[i], live[live.size() - 1 - i]);
    for (unsigned i = 0; i < 250; ++i) {
      for (size_t word = 0; word < kWords; ++word) {
        if (static_cast<Object*>(live.back())->words[word] != static_cast<long>(word)) std::puts("written over");
      }
      give(live.back());
      live.pop_back();
    }
  }
  void* const freed = live[live.size() / 2];
  live.erase(live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2));
  give(freed);
  use_after_free(freed);
  for (void* const block : live) give(block);
}

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

void monotonic_door() {
  alignas(16) static char buffer[4096];
  {
    snug::MonotonicResource resource(buffer, sizeof buffer);
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

struct Door {
  const char* name;
  bool told_of_by_memcheck;
  void (*go)();
};

using snug::Checked, snug::Unchecked, snug::SingleThread, snug::Locked, snug::ThreadCached;

const Door doors[] = {
    {"malloc", true, malloc_door},
    {"pool", false, [] { pool_door(snug::Pool<void>(sizeof(Object))); }},
    {"pool_checked", true, [] { pool_door(snug::Pool<void, SingleThread, Checked>(sizeof(Object))); }},
    {"pool_locked", false, [] { pool_door(snug::Pool<Object, Locked>()); }},
    {"pool_locked_checked", true, [] { pool_door(snug::Pool<Object, Locked, Checked>()); }},
    {"pool_cached", false, [] { pool_door(snug::Pool<Object, ThreadCached>()); }},
    {"pool_cached_checked", true, [] { pool_door(snug::Pool<Object, ThreadCached, Checked>()); }},
    {"pooled", false, [] { pooled_door<Unchecked>(); }},
    {"pooled_checked", true, [] { pooled_door<Checked>(); }},
    {"pool_allocator", false, [] { allocator_door<snug::PoolAllocator<Object>>(); }},
    {"pool_allocator_checked", true, [] { allocator_door<snug::PoolAllocator<Object, SingleThread, Checked>>(); }},
    {"pool_resource", true, [] { resource_door(*std::make_unique<snug::PoolResource>(snug::heap_resource())); }},
    {"pool_resource_synchronized", true, [] { resource_door(*std::make_unique<snug::SynchronizedPoolResource>()); }},
    {"monotonic_resource", true, [] { monotonic_door(); }},
    {"cell_heap", false, [] { cell_door<snug::CellHeap<>>(); }},
    {"cell_heap_checked", true, [] { cell_door<snug::CellHeap<snug::DebugCellPolicy>>(); }},
    {"cell_heap_growing", false, [] { cell_door<snug::CellHeap<snug::GrowingCellPolicy>>(); }},
    {"cell_heap_locked", false, [] { cell_door<snug::LockedCellHeap<>>(); }},
    {"compact_heap", true, [] { compact_door<snug::CompactHeap>(); }},
};

int usage() {
  std::fputs("usage: doors list | doors DOOR well-behaved|read-first|read-last|write-first|write-last\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "list") == 0) {
    for (const Door& door : doors) std::printf("%s%s\n", door.name, door.told_of_by_memcheck ? " memcheck" : "");
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
