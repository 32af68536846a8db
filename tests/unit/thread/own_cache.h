// OwnCacheTest: a thread cache over a heap and a thread state of the test's own: take() and put() are the fast paths in
// plain words.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "slab/own_heaps.h"
#include "thread/thread_cache.h"

namespace snug::unit {

class OwnCacheTest : public testing::Test {
 protected:
  explicit OwnCacheTest(const ClassTable& table = kRoomyTable, const CacheLimits& limits = {})
      : own(table),
        heap(*own.registry.acquire()),
        cache(heap, own.registry, arrays, state, limits, caches),
        limits(limits) {
    heap.caches().push_front(&cache);
  }
  void TearDown() override {
    expect_sound();
    cache.retire();
    EXPECT_STREQ(heap.check(), nullptr);
  }
  void expect_sound() { EXPECT_STREQ(cache.check(), nullptr); }

  void* take(size_t c) {
    CacheHead& head = state.heads[c];
    if (head.held() == 0) return cache.refill(c);
    head.move_top(head.top() - 1);
    return *head.top();
  }
  void put(size_t c, void* block) {
    if (is_full(c)) return cache.overflow(c, block);
    *state.heads[c].top() = block;
    state.heads[c].move_top(state.heads[c].top() + 1);
  }
  bool is_full(size_t c) const { return state.heads[c].top() == state.heads[c].limit(); }
  std::vector<void*> take_many(size_t c, size_t count) {
    std::vector<void*> blocks;
    for (size_t i = 0; i < count; ++i) blocks.push_back(take(c));
    return blocks;
  }
  void put_many(size_t c, const std::vector<void*>& blocks) {
    for (void* block : blocks) put(c, block);
  }
  size_t room(size_t c) const { return static_cast<size_t>(state.heads[c].limit() - state.heads[c].base()); }
  size_t room_bytes() const {
    size_t bytes = 0;
    for (size_t c = 1; c < kMaxClasses; ++c) bytes += room(c) * own.sizes(c).block_size;
    return bytes;
  }

  OwnHeaps own;
  MetaArena array_arena;  // apart, so that its bytes are those of arrays
  ArrayStore arrays{array_arena};
  ThreadState state{};
  SlabHeap& heap;
  Atomic<size_t> caches{1};
  ThreadCache cache;
  const CacheLimits limits;
  const size_t small = 1;  // the class of the smallest blocks
};

}  // namespace snug::unit
