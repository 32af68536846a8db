// The typed pool and the mix-in that gives a class its own operator new and delete.
#include <gtest/gtest.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "pool/counting_source.h"

namespace snug {
namespace {

struct Counted {
  explicit Counted(int value) : value(value) {
    if (value < 0) throw std::invalid_argument("negative");
    ++living;
  }
  ~Counted() { --living; }
  int value;
  static inline int living = 0;
};

TEST(TypedPool, ConstructsAndDestroys) {
  Pool<Counted> pool;
  Counted* const made = pool.construct(5);
  EXPECT_EQ(made->value, 5);
  EXPECT_EQ(Counted::living, 1);
  pool.destroy(made);
  EXPECT_EQ(Counted::living, 0);
  EXPECT_EQ(pool.stats().live, 0u);
}

// A checked pool looks before it runs a destructor.
TEST(TypedPoolDeathTest, DestroysNothingThatIsNotLive) {
  Pool<std::vector<int>, SingleThread, Checked> pool;
  auto* const made = pool.construct(1000);
  pool.destroy(made);
  EXPECT_DEATH(pool.destroy(made), "^snug: Pool<.*>::destroy\\(0x[0-9a-f]+\\): element is already free\n$");
  std::vector<int> foreign(10);
  EXPECT_DEATH(pool.destroy(&foreign), "^snug: Pool<.*>::destroy\\(.*\\): not an element of this pool\n$");
}

template <class TestedPool>
void give_null(TestedPool pool) {
  pool->destroy(nullptr);
  pool->deallocate(nullptr);
  void* const nulls[2] = {};
  pool->deallocate_batch(nulls);
  EXPECT_EQ(pool->stats().live, 0u);
  EXPECT_EQ(pool->check(), nullptr);
}
TEST(TypedPool, IgnoresNull) {
  give_null(std::make_unique<Pool<Counted>>());
  give_null(std::make_unique<Pool<Counted, SingleThread, Checked>>());
  give_null(std::make_unique<Pool<Counted, Locked>>());
  give_null(std::make_unique<Pool<Counted, Locked, Checked>>());
  give_null(std::make_unique<Pool<Counted, ThreadCached>>());
}

TEST(TypedPool, GivesBatches) {
  Pool<Counted> pool;
  std::array<void*, 100> elements{};
  ASSERT_EQ(pool.allocate_batch(elements), elements.size());
  EXPECT_EQ(pool.stats().live, elements.size());
  for (void*& element : elements) element = ::new (element) Counted(1);
  pool.destroy(static_cast<Counted*>(std::exchange(elements[50], nullptr)));
  for (void* const element : elements) {
    if (element != nullptr) static_cast<Counted*>(element)->~Counted();
  }
  pool.deallocate_batch(elements);
  EXPECT_EQ(pool.stats().live, 0u);
  EXPECT_EQ(pool.check(), nullptr);
}

TEST(TypedPool, FreesTheElementWhoseConstructorThrows) {
  Pool<Counted> pool;
  EXPECT_THROW(static_cast<void>(pool.construct(-1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(pool.try_construct(-1)), std::invalid_argument);
  EXPECT_EQ(pool.stats().live, 0u);
}

TEST(TypedPool, ReportsOutOfMemory) {
  SourceLedger ledger;
  ledger.limit = 0;
  Pool<Counted, SingleThread, Checked, CountingSource> pool({}, CountingSource{&ledger});
  EXPECT_THROW(static_cast<void>(pool.construct(1)), std::bad_alloc);
  EXPECT_EQ(pool.try_construct(1), nullptr);
  EXPECT_EQ(pool.try_allocate(), nullptr);
}

TEST(TypedPool, LendsUniqueOwners) {
  Pool<Counted> pool;
  {
    auto first = pool.make_unique(1);
    auto second = pool.make_unique(2);
    first = std::move(second);
    EXPECT_EQ(Counted::living, 1);
    EXPECT_EQ(first->value, 2);
  }
  EXPECT_EQ(Counted::living, 0);
  EXPECT_EQ(pool.stats().live, 0u);
}

template <class Checks>
void move_pools() {
  using Moved = Pool<Counted, SingleThread, Checks>;
  static_assert(std::is_nothrow_move_constructible_v<Moved> && std::is_nothrow_move_assignable_v<Moved>);
  Moved first;
  std::vector<Counted*> made;
  for (int i = 0; i < 1000; ++i) made.push_back(first.construct(i));
  Moved second(std::move(first));
  EXPECT_EQ(first.stats().blocks, 0u);
  EXPECT_EQ(second.stats().live, 1000u);
  EXPECT_TRUE(second.owns(made[500]));
  first.destroy(first.construct(1));
  EXPECT_EQ(first.check(), nullptr);
  first = std::move(second);
  EXPECT_EQ(second.stats().blocks, 0u);
  EXPECT_EQ(first.check(), nullptr);
  for (Counted* const counted : made) first.destroy(counted);
  EXPECT_EQ(first.stats().live, 0u);
  EXPECT_EQ(Counted::living, 0);
  first.drop_all_and_release();
}
TEST(TypedPool, MovesWithItsElements) {
  move_pools<Unchecked>();
  move_pools<Checked>();
  static_assert(!std::is_move_constructible_v<Pool<int, Locked>>);
  static_assert(!std::is_move_constructible_v<Pool<int, ThreadCached>>);
  static_assert(!std::is_copy_constructible_v<Pool<int>> && !std::is_copy_assignable_v<Pool<int>>);
}

TEST(TypedPool, DestroysAllThatLive) {
  Pool<Counted> pool;
  std::array<Counted*, 100> made{};
  for (int i = 0; i < 100; ++i) made[i] = pool.construct(i);
  for (int i = 0; i < 100; i += 4) pool.destroy(made[i]);
  int sum = 0;
  pool.for_each_live([&sum](Counted& counted) { sum += counted.value; });
  EXPECT_EQ(sum, 4950 - 1200);
  pool.destroy_all();
  EXPECT_EQ(Counted::living, 0);
  EXPECT_EQ(pool.stats().live, 0u);
}

struct alignas(256) Strict {
  char byte;
};
TEST(TypedPool, AlignsAsTheTypeAsks) {
  Pool<Strict> pool;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.allocate()) % 256, 0u);
  pool.drop_all();
}

TEST(TypedPool, HoldsConstantElements) {
  Pool<const Counted> pool;
  const Counted* const made = pool.construct(3);
  const auto owned = pool.make_unique(4);
  int sum = 0;
  pool.for_each_live([&sum](const Counted& counted) { sum += counted.value; });
  EXPECT_EQ(sum, 7);
  pool.destroy(made);
  EXPECT_EQ(Counted::living, 1);
}

class Abstract {
 public:
  virtual ~Abstract() = default;
  virtual void act() = 0;
};
TEST(TypedPool, GivesStorageForAnAbstractClass) {
  Pool<Abstract> pool;
  pool.deallocate(pool.allocate());
  EXPECT_EQ(pool.stats().live, 0u);
}

// ---- the mix-in

struct Shape : Pooled<Shape> {
  explicit Shape(double area = 0) : area(area) {
    if (area < 0) throw std::invalid_argument("negative");
  }
  virtual ~Shape() = default;
  double area;
};
struct Square final : Shape {
  using Shape::Shape;
};
struct Polygon final : Shape {
  using Shape::Shape;
  double corners[8] = {};
};
struct alignas(64) Aligned final : Shape {
  using Shape::Shape;
};

size_t live_shapes() { return Shape::pool().stats().live; }

TEST(Pooled, GivesTheClassItsPool) {
  const auto shape = std::make_unique<Shape>(1);
  EXPECT_TRUE(Shape::pool().owns(shape.get()));
  EXPECT_EQ(live_shapes(), 1u);
}

TEST(Pooled, SendsLongerDerivedObjectsToTheGlobalOperators) {
  {
    const std::unique_ptr<Shape> square = std::make_unique<Square>(1);
    const std::unique_ptr<Shape> polygon = std::make_unique<Polygon>(2);
    const std::unique_ptr<Shape> aligned = std::make_unique<Aligned>(3);
    EXPECT_TRUE(Shape::pool().owns(square.get())) << "as long as its base";
    EXPECT_FALSE(Shape::pool().owns(polygon.get()));
    EXPECT_FALSE(Shape::pool().owns(aligned.get()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned.get()) % 64, 0u);
    EXPECT_EQ(live_shapes(), 1u);
  }
  EXPECT_EQ(live_shapes(), 0u);
  EXPECT_STREQ(Shape::pool().check(), nullptr);
}

TEST(Pooled, SendsArraysToTheGlobalOperators) {
  const std::unique_ptr<Shape[]> shapes(new Shape[1]);
  EXPECT_FALSE(Shape::pool().owns(shapes.get()));
  EXPECT_EQ(live_shapes(), 0u);
}

TEST(Pooled, KeepsNothingOfAnObjectWhoseConstructorThrows) {
  EXPECT_THROW(new Shape(-1), std::invalid_argument);
  EXPECT_THROW(new (std::nothrow) Shape(-1), std::invalid_argument);
  EXPECT_THROW(new (std::nothrow) Polygon(-1), std::invalid_argument);
  EXPECT_THROW(new (std::nothrow) Aligned(-1), std::invalid_argument);
  EXPECT_THROW(new Polygon(-1), std::invalid_argument);
  EXPECT_THROW(new Aligned(-1), std::invalid_argument);  // a leak that ASan would find
  EXPECT_EQ(live_shapes(), 0u);
}

TEST(Pooled, LeavesPlacementNewAlone) {
  alignas(Shape) unsigned char place[sizeof(Shape)];
  auto* const shape = new (place) Shape(4);
  EXPECT_EQ(static_cast<void*>(shape), place);
  shape->~Shape();
  EXPECT_EQ(live_shapes(), 0u);
}

struct alignas(128) Tile : Pooled<Tile> {
  explicit Tile(int at = 0) : at(at) {
    if (at < 0) throw std::invalid_argument("negative");
  }
  int at;
};
struct alignas(256) Slab final : Tile {};

TEST(Pooled, ServesOveralignedClasses) {
  std::vector<std::unique_ptr<Tile>> tiles;
  for (int i = 0; i < 50; ++i) {
    tiles.push_back(std::unique_ptr<Tile>(i % 2 != 0 ? new Tile : new (std::nothrow) Tile));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tiles.back().get()) % 128, 0u);
    EXPECT_TRUE(Tile::pool().owns(tiles.back().get()));
  }
  const auto slab = std::make_unique<Slab>();
  EXPECT_FALSE(Tile::pool().owns(slab.get()));
  EXPECT_THROW(new Tile(-1), std::invalid_argument);
  EXPECT_THROW(new (std::nothrow) Tile(-1), std::invalid_argument);
  EXPECT_EQ(Tile::pool().stats().live, tiles.size());
}

// As long as its base, and more strictly aligned than it, but not than what plain operator new promises.
struct Pair : Pooled<Pair> {
  uint64_t first = 0, second = 0;
};
struct alignas(16) AlignedPair final : Pair {};
TEST(Pooled, AlignsSlotsAsTheirSizeAllows) {
  static_assert(alignof(Pair) == 8 && sizeof(AlignedPair) == sizeof(Pair));
  std::vector<std::unique_ptr<AlignedPair>> pairs;
  for (int i = 0; i < 100; ++i) {
    pairs.push_back(std::make_unique<AlignedPair>());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pairs.back().get()) % 16, 0u);
    EXPECT_TRUE(Pair::pool().owns(pairs.back().get()));
  }
}

// The source knows nothing of derived classes: the pool has to ask for what they may count on.
template <class T>
using PooledOnLax = Pooled<T, SingleThread, Unchecked, LaxSource>;
struct LaxPair : PooledOnLax<LaxPair> {
  uint64_t first = 0, second = 0;
};
struct alignas(16) AlignedLaxPair final : LaxPair {};
struct LaxWords : PooledOnLax<LaxWords> {
  uint64_t words[6] = {};
};
struct alignas(16) AlignedLaxWords final : LaxWords {};
struct alignas(32) StrictWords : PooledOnLax<StrictWords> {
  uint64_t words[8] = {};
};
struct alignas(64) StricterWords final : StrictWords {};
template <class Derived, class Base>
void expect_aligned() {
  static_assert(sizeof(Derived) == sizeof(Base) && alignof(Derived) > alignof(Base));
  std::vector<std::unique_ptr<Derived>> objects;
  for (int i = 0; i < 300; ++i) {
    objects.push_back(std::make_unique<Derived>());
    ASSERT_EQ(reinterpret_cast<uintptr_t>(objects.back().get()) % alignof(Derived), 0u);
  }
  EXPECT_STREQ(Base::pool().check(), nullptr);
}
TEST(Pooled, AlignsDerivedObjectsOnASourceThatGivesNoMoreThanAskedFor) {
  expect_aligned<AlignedLaxPair, LaxPair>();
  expect_aligned<AlignedLaxWords, LaxWords>();
  expect_aligned<StricterWords, StrictWords>();
}

// As long as its base, and more strictly aligned than the pool's elements.
struct Line : Pooled<Line> {
  char bytes[64] = {};
};
struct alignas(64) AlignedLine final : Line {};
TEST(Pooled, SendsObjectsOfStricterAlignmentToTheGlobalOperators) {
  static_assert(sizeof(AlignedLine) == sizeof(Line));
  const auto line = std::make_unique<AlignedLine>();
  EXPECT_FALSE(Line::pool().owns(line.get()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(line.get()) % 64, 0u);
}

// Deleted after every other static object of this file: the pool must still be there.
struct Late : Pooled<Late> {
  int value = 1;
};
struct Keeper {
  std::unique_ptr<Late> late;
};
Keeper keeper;
TEST(Pooled, OutlivesStaticObjects) { keeper.late = std::make_unique<Late>(); }

}  // namespace
}  // namespace snug
