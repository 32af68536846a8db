// The doors of compacting heaps.
#pragma once

#include <snug/compact/direct_compact_heap.h>
#include <snug/compact/shared_compact_heap.h>
#include <snug/compact_heap.h>
#include <snug/compact_heap_c.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "use_after_free.h"

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
  for (size_t i = 0; i < 2999; ++i) heap.get(points[i])->words[0] = 1;
}

// The place of a block that has moved into the hole that another has left.
inline void compact_move_door() {
  snug::CompactHeap heap;
  std::vector<snug::Handle<Point>> points;
  std::vector<Point*> places;
  for (int i = 0; i < 3000; ++i) points.push_back(heap.make<Point>());
  for (const auto point : points) places.push_back(heap.get(point));
  for (size_t i = 0; i < 3000; i += 2) heap.destroy(points[i]);
  // Where no other lies now.
  std::vector<Point*> now;
  for (size_t i = 1; i < 3000; i += 2) now.push_back(heap.get(points[i]));
  std::sort(now.begin(), now.end());
  for (size_t i = 1; i < 3000; i += 2)
    if (!std::binary_search(now.begin(), now.end(), places[i])) return use_after_free(places[i]);
  std::puts("none has moved");
}

// The place that a block has left to become longer.
inline void compact_resize_door() {
  snug::CompactHeap heap;
  std::vector<snug::Handle<>> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(heap.allocate(sizeof(Object)));
  void* const left = heap.get(blocks.back());
  if (!heap.resize(blocks.back(), 5000) || heap.get(blocks.back()) == left) std::puts("in place");
  use_after_free(left);
}

// What is freed is used outside of the section in which it was found.
inline void compact_shared_door(snug::CompactLocks locks) {
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

inline void compact_c_door(snug_compact_sharing sharing) {
  snug_compact_options options{};
  options.sharing = sharing;
  snug_compact_heap* const heap = snug_compact_create(&options);
  snug_compact_reader* const reader = sharing == SNUG_COMPACT_ONE_THREAD ? nullptr : snug_compact_reader_create(heap);
  std::vector<snug_handle> handles;
  for (int i = 0; i < 3000; ++i) handles.push_back(snug_compact_alloc(heap, sizeof(Object), 0));
  if (reader != nullptr) snug_compact_enter(heap, reader);
  void* const freed = snug_compact_deref(heap, handles.back());
  if (reader != nullptr) snug_compact_leave(heap, reader);
  snug_compact_free(heap, handles.back());
  use_after_free(freed);
  if (reader != nullptr) snug_compact_reader_destroy(heap, reader);
  snug_compact_destroy(heap);
}

inline void direct_c_door() {
  snug_compact_options options{};
  options.direct = 1;
  snug_compact_heap* const heap = snug_compact_create(&options);
  go_through([&] { return snug_compact_direct_alloc(heap, sizeof(Object), 0); },
             [&](void* block) { snug_compact_direct_free(heap, block); });
  snug_compact_destroy(heap);
}

inline void direct_door() {
  snug::DirectCompactHeap heap;
  go_through([&] { return heap.allocate(sizeof(Object)); }, [&](void* block) { heap.deallocate(block); });
  if (heap.check() != nullptr) std::puts("unsound");
}
