// Blocks that functions move: each holds its own address, so that one which was merely copied is found.
#include "compact_heap_fixture.h"

namespace snug {
namespace {

struct Knot {
  Knot* self;
  size_t number;
};

size_t relocated = 0;

void relocate_knot(void* from, void* to) {
  auto* const old = static_cast<Knot*>(from);
  EXPECT_EQ(old->self, old);
  *static_cast<Knot*>(to) = {static_cast<Knot*>(to), old->number};
  old->self = nullptr;
  ++relocated;
}

class RelocatedBlocksTest : public testing::Test {
 protected:
  std::vector<snug_handle> fill(snug_compact_heap* heap, size_t count, size_t bytes = sizeof(Knot)) {
    std::vector<snug_handle> handles;
    for (size_t i = 0; i < count; ++i) {
      handles.push_back(snug_compact_alloc_relocated(heap, bytes, alignof(Knot), relocate_knot));
      EXPECT_NE(handles.back(), 0u);
      auto* const knot = static_cast<Knot*>(snug_compact_deref(heap, handles.back()));
      *knot = {knot, i};
    }
    return handles;
  }
  void expect_sound(snug_compact_heap* heap, snug_handle handle, size_t number) {
    const auto* const knot = static_cast<Knot*>(snug_compact_deref(heap, handle));
    ASSERT_EQ(knot->self, knot);
    ASSERT_EQ(knot->number, number);
  }
};

TEST_F(RelocatedBlocksTest, TheFunctionMovesThem) {
  CompactHeapFixture heap;
  relocated = 0;
  const auto handles = fill(heap, 10'000);
  for (size_t i = 0; i < handles.size(); i += 2) {
    snug_compact_free(heap, handles[i]);
    ASSERT_LE(heap.stats().rows_not_full, 1u);
  }
  EXPECT_GT(heap.stats().moves, 0u);
  EXPECT_EQ(relocated, heap.stats().moves);
  for (size_t i = 1; i < handles.size(); i += 2) expect_sound(heap, handles[i], i);
}

TEST_F(RelocatedBlocksTest, AnIncrementDoesNotCutThem) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .increment = 16});
  const auto handles = fill(heap, 1000, 1000);
  for (size_t i = 0; i < handles.size(); i += 2) snug_compact_free(heap, handles[i]);
  const snug_compact_budget budget{0, 1};
  size_t steps = 0;
  for (; snug_compact_step(heap, &budget) == 1; ++steps) {
    heap.expect_sound();
    for (size_t i = 1; i < handles.size(); i += 200) expect_sound(heap, handles[i], i);
  }
  EXPECT_GT(steps, 10u);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  for (size_t i = 1; i < handles.size(); i += 2) expect_sound(heap, handles[i], i);
}

TEST_F(RelocatedBlocksTest, TheyLieInPagesOfTheirOwn) {
  CompactHeapFixture heap;
  fill(heap, 1);
  EXPECT_EQ(heap.stats().pages, 1u);
  heap.fill(1, sizeof(Knot));
  EXPECT_EQ(heap.stats().pages, 2u) << "that block is moved by copying";
  snug_compact_alloc_relocated(heap, sizeof(Knot), 0, [](void*, void*) {});
  EXPECT_EQ(heap.stats().pages, 3u) << "that one by another function";
  fill(heap, 1);
  EXPECT_EQ(heap.stats().pages, 3u);
}

TEST_F(RelocatedBlocksTest, AKindIsKeptWithinTheBoundOfItsHeap) {
  CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER});
  const auto handles = fill(heap, 10'000);
  for (size_t i = 0; i < handles.size(); i += 2) snug_compact_free(heap, handles[i]);
  EXPECT_EQ(heap.stats().moves, 0u);
  snug_compact_set_not_full(heap, 1);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  for (size_t i = 1; i < handles.size(); i += 2) expect_sound(heap, handles[i], i);
}

TEST_F(RelocatedBlocksTest, AResizeDoesNotMoveThem) {
  CompactHeapFixture heap;
  const snug_handle handle = fill(heap, 1, 100).front();
  EXPECT_EQ(snug_compact_usable_size(heap, handle), 112u);
  EXPECT_EQ(snug_compact_resize(heap, handle, 112, 0), 0);
  EXPECT_EQ(snug_compact_resize(heap, handle, 16, 0), 0);
  EXPECT_EQ(snug_compact_resize(heap, handle, 113, 0), -1);
  expect_sound(heap, handle, 0);
}

TEST_F(RelocatedBlocksTest, LongOnesAndThoseOfAnyAlignmentAreServed) {
  CompactHeapFixture heap;
  for (size_t bytes : {size_t{0}, size_t{1000}, size_t{32768}, size_t{32769}})
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
      const snug_handle handle = snug_compact_alloc_relocated(heap, bytes, alignment, relocate_knot);
      ASSERT_NE(handle, 0u);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(snug_compact_deref(heap, handle)) % alignment, 0u);
      heap.expect_sound();
    }
}

TEST_F(RelocatedBlocksTest, AHeapTakesSixtyFourKinds) {
  CompactHeapFixture heap({}, size_t{4} << 20);
  for (size_t i = 1; i <= 64; ++i) EXPECT_NE(snug_compact_alloc_relocated(heap, i * 16, 0, relocate_knot), 0u);
  EXPECT_EQ(snug_compact_alloc_relocated(heap, 65 * 16, 0, relocate_knot), 0u);
  EXPECT_NE(snug_compact_alloc_relocated(heap, 64 * 16, 0, relocate_knot), 0u);
  EXPECT_EQ(snug_compact_alloc_relocated(heap, 16, 0, nullptr), 0u);
}

}  // namespace
}  // namespace snug
