// The C++ interface: objects, handles, sections, pins, slices.
#include "snug/compact_heap.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/poison.h"

namespace knots {

// Trivially copyable, and yet known by its address.
struct Knot {
  explicit Knot(int n) : self(this), number(n) {}
  Knot* self;
  int number;
};
void relocate(Knot* from, Knot* to) {
  EXPECT_EQ(from->self, from);
  to->self = to;
  to->number = from->number;
}

template <class T>
struct Loop {
  Loop* self = this;
};
template <class T>
void relocate(Loop<T>* from, Loop<T>* to);

struct Tassel : Knot {
  std::string text;
};

}  // namespace knots

namespace snug {

template <class T>
inline constexpr bool kTriviallyRelocatable<std::unique_ptr<T>> = true;

namespace {

using knots::Knot;

struct Point {
  double x = 0;
  double y = 0;
};

class CompactHeapTest : public testing::Test {
 protected:
  ~CompactHeapTest() override { EXPECT_EQ(heap ? heap.check() : nullptr, nullptr); }
  template <class T, class Make>
  std::vector<Handle<T>> fill(size_t count, Make make) {
    std::vector<Handle<T>> handles;
    for (size_t i = 0; i < count; ++i) handles.push_back(make(i));
    return handles;
  }
  CompactHeap heap;
};

TEST_F(CompactHeapTest, AnObjectKeepsItsNameWhereverItLies) {
  const auto points = fill<Point>(5000, [&](size_t i) { return heap.make<Point>(double(i), 2.0); });
  size_t moved = 0;
  std::vector<Point*> places;
  for (const auto point : points) places.push_back(heap.get(point));
  for (size_t i = 0; i < points.size(); i += 2) heap.destroy(points[i]);
  for (size_t i = 1; i < points.size(); i += 2) {
    EXPECT_EQ(heap[points[i]].x, double(i));
    moved += heap.get(points[i]) != places[i] ? 1 : 0;
  }
  EXPECT_GT(moved, 0u);
  for (size_t i = 0; i < points.size(); i += 2) EXPECT_EQ(heap.try_get(points[i]), nullptr);
}

TEST_F(CompactHeapTest, HandlesAreValues) {
  const Handle<Point> none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none, nullptr);
  const Handle<Point> point = heap.make<Point>();
  EXPECT_TRUE(point);
  EXPECT_NE(point, none);
  EXPECT_TRUE(none < point);
  const Handle<const Point> constant = point;
  const Handle<> block = point;
  EXPECT_EQ(heap.get(block), heap.get(constant));
  const std::unordered_set<Handle<Point>> set{point, none, point};
  EXPECT_EQ(set.size(), 2u);
  static_assert(!std::is_convertible_v<Handle<>, Handle<Point>>);
  static_assert(!std::is_convertible_v<Handle<const Point>, Handle<Point>>);
  heap.destroy(none);
  heap.destroy(constant);
  EXPECT_EQ(heap.try_get(point), nullptr);
  EXPECT_EQ(heap.try_get(none), nullptr);
}

// What libstdc++'s strings hold may be their own address.
TEST_F(CompactHeapTest, ObjectsAreMovedByTheirConstructor) {
  const auto texts = fill<std::string>(3000, [&](size_t i) { return heap.make<std::string>(std::to_string(i)); });
  for (size_t i = 0; i < texts.size(); ++i)
    if (i % 3 != 0) heap.destroy(texts[i]);
  EXPECT_GT(heap.stats().moves, 0u);
  for (size_t i = 0; i < texts.size(); i += 3) {
    ASSERT_EQ(heap[texts[i]], std::to_string(i));
    heap.destroy(texts[i]);
  }
}

TEST_F(CompactHeapTest, ObjectsAreMovedByTheFunctionOfTheirNamespace) {
  const auto all = fill<Knot>(3000, [&](size_t i) { return heap.make<Knot>(int(i)); });
  for (size_t i = 0; i < all.size(); ++i)
    if (i % 3 != 0) heap.destroy(all[i]);
  EXPECT_GT(heap.stats().moves, 0u);
  for (size_t i = 0; i < all.size(); i += 3) {
    ASSERT_EQ(heap[all[i]].number, int(i));
    ASSERT_EQ(heap[all[i]].self, heap.get(all[i]));
  }
}

TEST_F(CompactHeapTest, EntriesOfAMapAreMovedByTheFunctionsOfKeyAndValue) {
  CompactMap<size_t, Knot> map(heap);
  CompactMap<std::string, Knot> names(heap);
  for (size_t i = 0; i < 3000; ++i) {
    map.try_emplace(i, int(i));
    names.try_emplace(std::to_string(i), int(i));
  }
  for (size_t i = 0; i < 3000; ++i)
    if (i % 3 != 0) map.erase(i), names.erase(std::to_string(i));
  EXPECT_GT(heap.stats().moves, 0u);
  for (size_t i = 0; i < 3000; i += 3) {
    ASSERT_EQ(map.find(i)->number, int(i));
    ASSERT_EQ(map.find(i)->self, map.find(i));
    ASSERT_EQ(names.find(std::to_string(i))->self, names.find(std::to_string(i)));
  }
}

// A function for a base would leave the rest behind; a template of one's own is one for the type itself.
static_assert(RelocatedByFunction<Knot> && RelocatedByFunction<knots::Loop<int>>);
static_assert(!RelocatedByFunction<knots::Tassel> && RelocatedByAnothersFunction<knots::Tassel>);
static_assert(!kMovedAsBytes<const Knot> && kMovedAsBytes<const Point> && kMovedAsBytes<const std::unique_ptr<int>>);
static_assert(!RelocatedByFunction<Point> && !RelocatedByAnothersFunction<Point> && !RelocatedByFunction<int>);

TEST_F(CompactHeapTest, ObjectsMayBeOfAnyLengthAndAlignment) {
  struct alignas(256) Wide {
    char bytes[256];
  };
  struct Long {
    std::string text;
    char bytes[40000];
  };
  const auto wide = heap.make<Wide>();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(heap.get(wide)) % 256, 0u);
  const auto longer = heap.make<Long>();
  heap[longer].text = "beyond what moves";
  heap.compact();
  EXPECT_EQ(heap[longer].text, "beyond what moves");
  heap.destroy(longer);
  heap.destroy(wide);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

// The frees of a destructor may move any block, its own as well.
struct Owner {
  Owner(CompactHeap& of, size_t count) : heap(of) {
    for (size_t i = 0; i < count; ++i) owned.push_back(heap.make<Point>());
  }
  Owner(Owner&&) = default;
  ~Owner() {
    for (const auto point : owned) heap.destroy(point);
  }
  CompactHeap& heap;
  std::vector<Handle<Point>> owned;
};

TEST_F(CompactHeapTest, DestructorsMayUseTheHeap) {
  const auto owners = fill<Owner>(1000, [&](size_t) { return heap.make<Owner>(heap, 5); });
  for (size_t i = 0; i < owners.size(); i += 2) heap.destroy(owners[i]);
  EXPECT_EQ(heap.stats().blocks, 500u * 6);
  for (size_t i = 1; i < owners.size(); i += 2) heap.replace(owners[i], heap, 1u);
  EXPECT_EQ(heap.stats().blocks, 500u * 2);
  for (size_t i = 1; i < owners.size(); i += 2) heap.destroy(owners[i]);
  EXPECT_EQ(heap.stats().blocks, 0u);
}

TEST_F(CompactHeapTest, WhatAConstructorThrowsPassesThrough) {
  struct Refuses {
    Refuses() { throw 1; }
  };
  EXPECT_THROW((void)heap.make<Refuses>(), int);
  EXPECT_EQ(heap.stats().blocks, 0u);
  heap.compact();
}

TEST_F(CompactHeapTest, AHeapCanBeMovedAndRefused) {
  const Handle<Point> point = heap.make<Point>(1.0, 2.0);
  CompactHeap other = std::move(heap);
  EXPECT_FALSE(heap);
  EXPECT_EQ(other[point].y, 2.0);
  heap = std::move(other);
  EXPECT_EQ(heap[point].y, 2.0);
  EXPECT_FALSE(CompactHeap::try_create({.region_bytes = 1}));
  EXPECT_THROW(CompactHeap({.region_bytes = 1}), std::bad_alloc);
  EXPECT_THROW((void)heap.allocate(SIZE_MAX), std::bad_alloc);
}

TEST_F(CompactHeapTest, SlicesAreLimitedByBytesAndByTime) {
  heap.set_not_full(SNUG_COMPACT_NEVER);
  heap.set_increment(100);
  const auto blocks = fill<void>(2000, [&](size_t) { return heap.allocate(1000); });
  for (size_t i = 0; i < blocks.size(); i += 2) heap.deallocate(blocks[i]);
  size_t slices = 0;
  while (heap.compact_bytes(1500)) {
    ++slices;
    // A block on its way is found where it was, one that was asked for before the table grew as well.
    for (size_t i = 1; i < blocks.size(); i += 100) ASSERT_NE(heap.get(blocks[i]), nullptr);
    ASSERT_EQ(heap.check(), nullptr);
  }
  EXPECT_GT(slices, 100u);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  for (size_t i = 1; i < blocks.size(); i += 4) heap.deallocate(blocks[i]);
  EXPECT_FALSE(heap.compact(std::chrono::hours::max())) << "no limit";
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  EXPECT_FALSE(heap.compact(std::chrono::seconds(1)));
  EXPECT_FALSE(heap.compact(std::chrono::microseconds(100), 1));
}

TEST_F(CompactHeapTest, ASectionEndsTheMoveThatASliceHasBegun) {
  heap.set_not_full(SNUG_COMPACT_NEVER);
  heap.set_increment(100);
  const auto blocks = fill<void>(200, [&](size_t) { return heap.allocate(1000); });
  for (const size_t i : {0u, 20u, 40u}) heap.deallocate(blocks[i]);
  ASSERT_TRUE(heap.compact_bytes(100));
  ASSERT_EQ(heap.stats().moves_in_flight, 1u);
  const Section section(heap);
  EXPECT_EQ(heap.stats().moves_in_flight, 0u);
  for (size_t i = 41; i < blocks.size(); ++i) EXPECT_EQ(section.get(blocks[i]), heap.get(blocks[i]));
  const Section inner(heap);
  const Handle<Point> made = heap.make<Point>(1.0, 1.0);
  EXPECT_EQ(inner[made].x, 1.0) << "a section sees what was made after it was opened";
}

TEST_F(CompactHeapTest, HandlesBeyondTheTablesFirstStepAreFound) {
  const Handle<Point> first = heap.make<Point>();
  std::vector<Handle<Point>> points;
  for (size_t i = 0; i < 140'000; ++i) points.push_back(heap.make<Point>(double(i)));
  EXPECT_EQ(heap[points.back()].x, 139'999.0);
  EXPECT_EQ(heap[first].x, 0.0);
}

TEST_F(CompactHeapTest, APinnedObjectStays) {
  const auto points = fill<Point>(5000, [&](size_t i) { return heap.make<Point>(double(i)); });
  {
    Pinned pinned = heap.pin(points[2500]);
    Point* const place = pinned.get();
    for (size_t i = 0; i < points.size(); ++i)
      if (i != 2500) heap.destroy(points[i]);
    heap.compact();
    EXPECT_EQ(heap.get(points[2500]), place);
    EXPECT_EQ(pinned->x, 2500.0);
    EXPECT_EQ((*pinned).y, 0.0);
    const Pinned moved = std::move(pinned);
    EXPECT_FALSE(pinned);
    EXPECT_EQ(moved.handle(), points[2500]);
    EXPECT_EQ(heap.stats().pins, 1u);
  }
  EXPECT_EQ(heap.stats().pins, 0u);
  std::vector<Pinned<Point>> pins;
  for (int i = 0; i < 15; ++i) pins.push_back(heap.pin(points[2500]));
  EXPECT_TRUE(pins.back());
  EXPECT_FALSE(heap.pin(points[2500]));
}

TEST_F(CompactHeapTest, AWalkComesByEveryBlock) {
  for (int i = 0; i < 10; ++i) (void)heap.make<int>(i);
  int sum = 0;
  heap.for_each([&](Handle<> handle, void* block, size_t bytes) {
    EXPECT_TRUE(handle);
    EXPECT_EQ(bytes, 16u);
    sum += *static_cast<int*>(block);
  });
  EXPECT_EQ(sum, 45);
}

size_t walked = 0;
void count_walked(Handle<>, void*, size_t) { ++walked; }

TEST_F(CompactHeapTest, AFunctionMayWalk) {
  (void)heap.make<int>(1);
  heap.for_each(count_walked);
  EXPECT_EQ(walked, 1u);
}

TEST_F(CompactHeapTest, TypesThatCanBeCopiedAsBytesNeedNoKind) {
  for (int i = 0; i < 100; ++i) (void)heap.make<std::unique_ptr<int>>();
  (void)heap.make<Point>();
  EXPECT_EQ(heap.stats().pages, 1u);
  (void)heap.make<std::string>();
  EXPECT_EQ(heap.stats().pages, 2u);
}

using CompactHeapDeathTest = CompactHeapTest;

TEST_F(CompactHeapDeathTest, WhatNamesNoBlockIsReported) {
  const Handle<Point> freed = heap.make<Point>();
  heap.destroy(freed);
  const Handle<Point> live = heap.make<Point>();
  const char* const kNone = "names no block of this heap, or one that was freed";
  EXPECT_DEATH((void)heap.get(freed), kNone);
  EXPECT_DEATH((void)heap.get(Handle<Point>()), kNone);
  EXPECT_DEATH(heap.destroy(freed), kNone);
  EXPECT_DEATH((void)heap.pin(freed), kNone);
  CompactHeap other;
  EXPECT_DEATH((void)other.get(live), kNone);
  const Handle<Point> foreign = other.make<Point>();
  EXPECT_DEATH((void)heap.get(foreign), kNone);
}

TEST_F(CompactHeapDeathTest, WhatMayMoveIsReportedInsideASection) {
  const Handle<Point> point = heap.make<Point>();
  Pinned<Point> pinned = heap.pin(heap.make<Point>());
  const Section section(heap);
  const char* const kMoves = "may move blocks, and a section is open";
  EXPECT_DEATH(heap.destroy(point), kMoves);
  EXPECT_DEATH(heap.deallocate(point), kMoves);
  EXPECT_DEATH(heap.resize(point, 100), kMoves);
  EXPECT_DEATH(heap.compact(), kMoves);
  EXPECT_DEATH(heap.compact(std::chrono::milliseconds(1)), kMoves);
  EXPECT_DEATH(heap.set_not_full(1), kMoves);
  EXPECT_DEATH(pinned.reset(), kMoves);
  EXPECT_DEATH(CompactHeap(std::move(heap)), kMoves);
}

// A destructor would report it and end the process: the death test's child must not come to an end by itself.
TEST_F(CompactHeapDeathTest, AHeapMustOutliveItsPins) {
  EXPECT_DEATH(
      {
        CompactHeap other;
        const Handle<Point> point = other.make<Point>();
        snug_compact_pin(other.c_heap(), point.word());
      },
      "blocks of the heap are pinned");
}

TEST_F(CompactHeapDeathTest, AddressSanitizerSeesWhatIsStale) {
  if (!kPoisonsForSanitizer) GTEST_SKIP() << "AddressSanitizer is not active";
  const auto points = fill<Point>(3000, [&](size_t i) { return heap.make<Point>(double(i)); });
  std::vector<Point*> places;
  for (const auto point : points) places.push_back(heap.get(point));
  heap.destroy(points[2999]);
  EXPECT_DEATH(places[2999]->x = 1, "use-after-poison") << "freed, in the page that is not full";
  heap.destroy(points[0]);
  heap.destroy(points[1500]);
  size_t moved = 0;
  for (size_t i = 1; i < 2999; ++i) {
    if (i == 1500 || heap.get(points[i]) == places[i]) continue;
    ++moved;
    EXPECT_DEATH(places[i]->x = 1, "use-after-poison") << "moved away";
  }
  EXPECT_GT(moved, 0u);
}

// The page that has emptied is kept for the next.
TEST_F(CompactHeapDeathTest, AddressSanitizerSeesWhatWasTheLastInItsPage) {
  if (!kPoisonsForSanitizer) GTEST_SKIP() << "AddressSanitizer is not active";
  const Handle<Point> point = heap.make<Point>();
  Point* const freed = heap.get(point);
  heap.destroy(point);
  EXPECT_DEATH(freed->x = 1, "use-after-poison");
  const Handle<> block = heap.allocate(5000);
  auto* const left = static_cast<char*>(heap.get(block));
  ASSERT_TRUE(heap.resize(block, 50));
  EXPECT_DEATH(*left = 1, "use-after-poison");
}

TEST_F(CompactHeapDeathTest, ARegionIsTheCallersWithoutPoisonWhenTheHeapHasEnded) {
  std::vector<char> region(1 << 20);
  {
    CompactHeap other({.region = region.data(), .region_bytes = region.size()});
    for (const size_t bytes : {100, 1000, 5000, 20000, 40000}) other.deallocate(other.allocate(bytes));
    for (const size_t bytes : {100, 1000, 5000, 20000, 40000}) EXPECT_TRUE(other.allocate(bytes));
  }
  EXPECT_FALSE(has_poison(region.data(), region.size()));
}

}  // namespace
}  // namespace snug
