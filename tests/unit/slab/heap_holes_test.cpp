// Holes of slabs in heaps that no thread was asked to trim: what the background thread does by the clock, and a heap's
// own thread before its heap grows.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <random>
#include <vector>

#include "os/system_call_hook.h"
#include "slab/heap_registry.h"
#include "slab/own_heaps.h"

namespace snug {
namespace {

class HeapHolesTest : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_STREQ(own.registry.check(), nullptr);
    EXPECT_STREQ(own.spans.check(), nullptr);
  }
  // To the end of the pass. Returns how many steps it took.
  size_t go_round() {
    size_t steps = 1;
    while (registry.give_back_holes(pass) != Purge::kNotDue) ++steps;
    return steps;
  }
  // Of all slabs, as the background thread does by the clock.
  static std::vector<Holes> take_all_holes(SlabHeap& heap) {
    SlabHeap::Round round{.visitor = SlabHeap::kByTheClock};
    std::vector<Holes> hands;
    for (bool is_through = false; !is_through;) {
      const SlabHeap::Look look(heap);
      Holes holes;
      SpanBatch emptied;
      is_through = !heap.take_holes(round, holes, emptied);
      EXPECT_TRUE(emptied.empty());
      if (holes.blocks() != 0) hands.push_back(holes);
      EXPECT_STREQ(heap.check(), nullptr);
    }
    return hands;
  }
  size_t slab_bytes(size_t size_class) const { return own.sizes(size_class).pages_per_slab * kPageSize; }

  unit::OwnHeaps own;
  HeapRegistry& registry = own.registry;
  HeapRegistry::Pass pass;
  const size_t c = kRoomyTable.class_of(64);
};

// As the heap's own thread does each tenth of a second.
void age(SlabHeap& heap) {
  const SlabHeap::Hold hold(heap);
  heap.age(0, 0);
}

// One block of each slab stays, of so many slabs. Their holes, in bytes, a page of the OS apart for each slab.
struct Sparse {
  Sparse(unit::OwnHeaps& own, SlabHeap& heap, size_t size_class, size_t slabs)
      : in_slab(own.sizes(size_class).blocks_per_slab) {
    const std::vector<void*> all = own.take(heap, size_class, slabs * in_slab);
    for (size_t i = 0; i < all.size(); ++i) {
      *static_cast<char*>(all[i]) = 1;
      (i % in_slab != 0 ? dead : live).push_back(all[i]);
    }
    holes = dead.size() * own.sizes(size_class).block_size - slabs * 4096;
  }
  void expect_alive() const {
    for (const void* block : live) EXPECT_EQ(*static_cast<const char*>(block), 1);
  }

  const size_t in_slab;
  std::vector<void*> live, dead;
  size_t holes = 0;
};

TEST_F(HeapHolesTest, HolesOfTheDeadGoBackOnceNothingWasTakenForOneRound) {
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  SlabHeap* dead = registry.acquire();
  SlabHeap* living = registry.acquire();
  Sparse blocks(own, *dead, c, 20);
  EXPECT_FALSE(registry.ages());
  registry.abandon(*dead);
  wake_event.clear();
  own.give(*living, c, blocks.dead);
  EXPECT_TRUE(registry.ages());
  EXPECT_TRUE(wake_event.is_wanted());
  go_round();
  EXPECT_EQ(registry.spans().bytes_in_holes(), 0u) << "the blocks were taken since the last time";
  EXPECT_TRUE(registry.ages());
  EXPECT_EQ(registry.give_back_holes(pass), Purge::kDone);
  EXPECT_LT(registry.spans().bytes_in_holes(), blocks.holes / 2) << "a slab at a time";
  go_round();
  EXPECT_GE(registry.spans().bytes_in_holes(), blocks.holes);
  EXPECT_FALSE(registry.ages());
  blocks.expect_alive();
  EXPECT_STREQ(registry.check(), nullptr);
}

TEST_F(HeapHolesTest, AClassThatIsInUseKeepsItsHoles) {
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  SlabHeap* heap = registry.acquire();
  Sparse blocks(own, *heap, c, 4);
  own.give(*heap, c, blocks.dead);
  for (int i = 0; i < 5; ++i) {
    own.give(*heap, c, own.take(*heap, c, 1));
    go_round();
  }
  EXPECT_EQ(registry.spans().bytes_in_holes(), 0u);
  EXPECT_TRUE(registry.ages());
}

// What the heap's own thread does by itself: of 16 MiB in blocks of 64 bytes most are freed, then other sizes come.
TEST_F(HeapHolesTest, HolesMakeWayForOtherSizesOnceTheHeapHasAged) {
  SlabHeap* heap = registry.acquire();
  Sparse blocks(own, *heap, c, (size_t{16} << 20) / (own.sizes(c).pages_per_slab * kPageSize));
  own.give(*heap, c, blocks.dead);
  const size_t other = kRoomyTable.class_of(3000);
  const auto grow = [&] { own.take(*heap, other, (size_t{3} << 20) / own.sizes(other).block_size); };
  grow();
  age(*heap);
  EXPECT_EQ(registry.spans().bytes_in_holes(), 0u) << "in use since the last round";
  age(*heap);
  EXPECT_NE(registry.spans().bytes_in_holes(), 0u);
  EXPECT_LT(registry.spans().bytes_in_holes(), size_t{2} << 20) << "nobody waits for more";
  grow();
  EXPECT_GE(registry.spans().bytes_in_holes(), blocks.holes);
  blocks.expect_alive();
  EXPECT_STREQ(registry.check(), nullptr);
}

// The bytes that go without the heap's ageing, as a second class dies after the round that gave back the first one's.
size_t gone_between_rounds(size_t retain, size_t threads = 1) {
  unit::OwnHeaps own;
  unit::set_retention(own.stores.bounds(), {retain, UINT32_MAX});
  own.registry.bound(1);
  SlabHeap* heap = nullptr;
  for (size_t thread = 0; thread != threads; ++thread) heap = own.registry.acquire();
  const size_t first = kRoomyTable.class_of(256);
  const size_t second = kRoomyTable.class_of(64);  // where a round comes by before
  const size_t other = kRoomyTable.class_of(3000);
  const auto sparse = [&](size_t size_class) {
    return Sparse(own, *heap, size_class, (size_t{6} << 20) / PageCount{own.sizes(size_class).pages_per_slab}.bytes());
  };
  const auto grow = [&](size_t bytes) { own.take(*heap, other, bytes / own.sizes(other).block_size); };
  const Sparse one = sparse(first);
  const Sparse two = sparse(second);
  own.give(*heap, first, one.dead);
  age(*heap);
  grow(size_t{3} << 20);  // to the end of the round, which finds all classes in use
  age(*heap);
  while (own.registry.spans().bytes_in_holes() < one.holes) grow(size_t{64} << 10);
  const size_t before = own.registry.spans().bytes_in_holes();
  own.give(*heap, second, two.dead);
  grow(size_t{3} << 20);
  one.expect_alive();
  two.expect_alive();
  EXPECT_STREQ(own.registry.check(), nullptr);
  return own.registry.spans().bytes_in_holes() - before;
}

TEST_F(HeapHolesTest, WhileTooMuchIsFreeRoundsFollowEachOther) {
  EXPECT_EQ(gone_between_rounds(size_t{64} << 20), 0u);
  EXPECT_GE(gone_between_rounds(size_t{2} << 20), size_t{4} << 20);
  EXPECT_EQ(gone_between_rounds(size_t{2} << 20, 8), 0u) << "each thread may have so much";
}

// The slabs that a flush gives away are counted before the blocks are that it takes home.
TEST_F(HeapHolesTest, AFlushOfLongBlocksLooksForNoHoles) {
  unit::set_retention(own.stores.bounds(), {size_t{64} << 20, UINT32_MAX});
  SlabHeap* heap = registry.acquire();
  const size_t longest = kRoomyTable.class_of(size_t{64} << 10);
  const std::vector<void*> one = own.take(*heap, longest, 100), another = own.take(*heap, longest, 100);
  const Sparse sparse(own, *heap, c, 5);
  own.give(*heap, c, sparse.dead);
  age(*heap);  // a round that finds the class in use
  own.give(*heap, longest, one);
  own.give(*heap, longest, another);
  EXPECT_EQ(registry.spans().bytes_in_holes(), 0u);
}

// 16 MiB die one by one, but for one block in two thousand, and nothing is allocated any more.
TEST_F(HeapHolesTest, AHeapThatShrinksAtRandomGivesBackItsHoles) {
  unit::set_retention(own.stores.bounds(), {size_t{2} << 20, UINT32_MAX});
  SlabHeap* heap = registry.acquire();
  std::vector<void*> blocks = own.take(*heap, c, (size_t{16} << 20) / own.sizes(c).block_size);
  for (void* block : blocks) *static_cast<char*>(block) = 1;
  std::mt19937 random(1);
  std::shuffle(blocks.begin(), blocks.end(), random);
  age(*heap);
  own.take(*heap, kRoomyTable.class_of(3000), 1000);  // a round that finds the class in use
  age(*heap);
  const size_t live = blocks.size() / 2000;
  for (size_t left = blocks.size(); left != live;) {
    const size_t some = std::min(left - live, size_t{32});
    own.give(*heap, c,
             {blocks.begin() + static_cast<ptrdiff_t>(left - some), blocks.begin() + static_cast<ptrdiff_t>(left)});
    left -= some;
  }
  const size_t in_slabs = heap->slab_count() * slab_bytes(c);
  EXPECT_GE(registry.spans().bytes_in_holes() + (size_t{3} << 20), in_slabs);
  EXPECT_GE(in_slabs, size_t{4} << 20) << "or there were no holes to give back";
}

// The owner goes on with its heap while holes are detached: what it has is still there when they come back.
TEST_F(HeapHolesTest, AHeapIsSoundWhileHolesAreInHand) {
  SlabHeap* heap = registry.acquire();
  Sparse blocks(own, *heap, c, 3);
  own.give(*heap, c, blocks.dead);
  EXPECT_TRUE(take_all_holes(*heap).empty()) << "in use since the last time";
  std::vector<Holes> hands = take_all_holes(*heap);
  ASSERT_EQ(hands.size(), 3u);
  // All else is freed: the slabs stay, and the blocks of the holes are handed out to nobody.
  own.give(*heap, c, blocks.live);
  std::vector<void*> others = own.take(*heap, c, 3 * blocks.in_slab);
  for (const Holes& holes : hands) EXPECT_NE(holes.purge(), 0u);
  for (void* block : others) *static_cast<char*>(block) = 2;
  for (Holes& holes : hands) {
    SlabHeap::Look look(*heap);
    heap->put_back(holes);
    EXPECT_STREQ(heap->check(), nullptr);
  }
  for (const void* block : others) EXPECT_EQ(*static_cast<const char*>(block), 2);
  own.give(*heap, c, others);
  EXPECT_STREQ(heap->check(), nullptr);
  SlabHeap::Look look(*heap);
  heap->release_empty(0);
  EXPECT_EQ(heap->slab_count(), 0u);
}

// Others wait for the heap's lock meanwhile.
TEST_F(HeapHolesTest, ALongLookIsMadeOfManyHolds) {
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  SlabHeap* heap = registry.acquire();
  constexpr size_t kSlabs = 256;
  Sparse blocks(own, *heap, c, kSlabs);
  // A block of each slab, which makes no hole.
  std::vector<void*> one_each;
  for (size_t i = 0; i < blocks.dead.size(); i += blocks.in_slab - 1) one_each.push_back(blocks.dead[i]);
  own.give(*heap, c, one_each);
  go_round();
  own.give(*heap, c, {blocks.dead[1]});
  EXPECT_GE(go_round(), kSlabs / 64);
  EXPECT_EQ(registry.spans().bytes_in_holes(), 0u);
}

TEST_F(HeapHolesTest, NoLockOfTheHeapIsHeldWhileTheOSWorks) {
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  unit::set_retention(own.stores.bounds(), {0, 0});  // all that is empty goes at once
  SlabHeap* heap = registry.acquire();
  Sparse blocks(own, *heap, c, 2);
  own.give(*heap, c, blocks.dead);
  const size_t other = kRoomyTable.class_of(1024);
  own.give(*heap, other, own.take(*heap, other, 4 * own.sizes(other).blocks_per_slab));
  ASSERT_EQ(heap->slab_count(other), 4u) << "they are kept";
  go_round();
  int calls = 0;
  int held = 0;
  {
    const unit::SystemCallHook hook(SYS_madvise, [&] { return ++calls, held += heap->lock().is_held(), true; });
    go_round();
  }
  EXPECT_NE(registry.spans().bytes_in_holes(), 0u);
  EXPECT_EQ(heap->slab_count(other), 0u);
  EXPECT_GE(calls, 3);
  EXPECT_EQ(held, 0);
}

// Blocks of an OS page each, so that each free one is a hole: a slab without others has nothing to give meanwhile.
TEST_F(HeapHolesTest, ASlabOfWhichAllThatIsFreeIsInHandIsFull) {
  SlabHeap* heap = registry.acquire();
  const size_t pages = kRoomyTable.class_of(4096);
  Sparse blocks(own, *heap, pages, 1);
  own.give(*heap, pages, blocks.dead);
  take_all_holes(*heap);
  std::vector<Holes> hands = take_all_holes(*heap);
  ASSERT_EQ(hands.size(), 1u);
  EXPECT_EQ(heap->slabs_to_give(pages), 0u);
  own.give(*heap, pages, own.take(*heap, pages, 1));
  EXPECT_STREQ(heap->check(), nullptr);
  const SlabHeap::Look look(*heap);
  heap->put_back(hands[0]);
  EXPECT_STREQ(heap->check(), nullptr);
}

TEST_F(HeapHolesTest, AHugePageIsBrokenForAQuarterOfASlab) {
  if (!unit::os_knows_huge_pages()) GTEST_SKIP() << "the OS knows no huge pages";
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  SlabHeap* heap = registry.acquire();
  const size_t kilobytes = kRoomyTable.class_of(1024);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 16 * 1024; ++i) {
    blocks.push_back(own.take(*heap, kilobytes, 1)[0]);
    *static_cast<char*>(blocks.back()) = 1;
  }
  const auto paging = [&] { return own.page_map.chunk(own.page_map.page_of(blocks.back())).paging; };
  ASSERT_EQ(paging(), Paging::kHuge);
  ASSERT_EQ(slab_bytes(kilobytes), size_t{64} << 10);
  own.give(*heap, kilobytes, {blocks.end() - 12, blocks.end()});
  go_round();
  go_round();
  EXPECT_EQ(paging(), Paging::kHuge) << "for 12 KiB";
  own.give(*heap, kilobytes, {blocks.end() - 40, blocks.end() - 12});
  go_round();
  go_round();
  EXPECT_GE(registry.spans().bytes_in_holes(), size_t{16} << 10);
  EXPECT_EQ(paging(), Paging::kSmall) << "or the OS makes it a huge page again";
}

// Its owner has ended, and another has its slab, by the time that the holes come back.
TEST_F(HeapHolesTest, HolesComeBackToWhoeverHasTheSlabByThen) {
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  SlabHeap* heap = registry.acquire();
  SlabHeap* heir = registry.acquire();
  Sparse blocks(own, *heap, c, 1);
  own.give(*heap, c, blocks.dead);
  go_round();
  bool is_adopted = false;
  {
    const unit::SystemCallHook hook(SYS_madvise, [&] {
      if (is_adopted) return true;
      registry.abandon(*heap);
      const SlabHeap::Hold hold(*heir);
      is_adopted = registry.adopt_slab(c, *heir);
      return true;
    });
    go_round();
  }
  EXPECT_TRUE(is_adopted);
  EXPECT_NE(registry.spans().bytes_in_holes(), 0u);
  EXPECT_EQ(heir->slab_count(c), 1u);
  EXPECT_EQ(heir->blocks_out(c), 1u);
  blocks.expect_alive();
}

TEST_F(HeapHolesTest, ANewHoleBesideThoseInHandIsSeenNextTime) {
  SlabHeap* heap = registry.acquire();
  Sparse blocks(own, *heap, c, 1);
  const auto half = blocks.dead.begin() + static_cast<ptrdiff_t>(blocks.dead.size() / 2);
  own.give(*heap, c, {blocks.dead.begin(), half});
  take_all_holes(*heap);
  std::vector<Holes> hands = take_all_holes(*heap);
  ASSERT_EQ(hands.size(), 1u);
  own.give(*heap, c, {half, blocks.dead.end()});
  {
    const SlabHeap::Look look(*heap);
    heap->put_back(hands[0]);
  }
  hands = take_all_holes(*heap);
  ASSERT_EQ(hands.size(), 1u);
  {
    const SlabHeap::Look look(*heap);
    heap->put_back(hands[0]);
  }
  EXPECT_TRUE(take_all_holes(*heap).empty()) << "nothing has come back since";
}

TEST_F(HeapHolesTest, AClassThatComesIntoUseMeanwhileIsForTheNextPass) {
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  SlabHeap* heap = registry.acquire();
  Sparse blocks(own, *heap, c, 3);
  own.give(*heap, c, blocks.dead);
  go_round();
  ASSERT_EQ(registry.give_back_holes(pass), Purge::kDone);
  ASSERT_NE(registry.spans().bytes_in_holes(), 0u);
  own.take(*heap, c, 1);
  go_round();
  EXPECT_LT(registry.spans().bytes_in_holes(), blocks.holes);
  EXPECT_TRUE(registry.ages());
}

// Locked memory, say: what lies behind it is not forgotten.
TEST_F(HeapHolesTest, APassThatIsBrokenOffGoesOn) {
  WakeEvent wake_event;
  registry.set_wake_event(wake_event);
  SlabHeap* heap = registry.acquire();
  Sparse blocks(own, *heap, c, 3);
  own.give(*heap, c, blocks.dead);
  go_round();
  {
    const unit::SystemCallHook hook(SYS_madvise, [] { return false; }, EINVAL);
    ASSERT_EQ(registry.give_back_holes(pass), Purge::kRefused);
  }
  EXPECT_EQ(registry.spans().bytes_in_holes(), 0u);
  go_round();
  EXPECT_NE(registry.spans().bytes_in_holes(), 0u);
  EXPECT_LT(registry.spans().bytes_in_holes(), blocks.holes) << "not asked again, as nothing has come back";
  blocks.expect_alive();
}

}  // namespace
}  // namespace snug
