// Threads that want the same blocks again and again, and readers that are used wrongly.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "base/shared_holds.h"
#include "compact_heap_fixture.h"

namespace snug {
namespace {

constexpr size_t kBlocks = 64;  // of 256 bytes in a page

class SharedOptionalLocksTest : public testing::TestWithParam<snug_compact_sharing> {
  const OnOneCore on_one_core_{GetParam() == SNUG_COMPACT_CORES};
};

// Two readers with overlapping sections look at a block each time, and keep it where it is. The others move.
TEST_P(SharedOptionalLocksTest, ABlockThatIsAlwaysWantedKeepsNoOtherFromMoving) {
  CompactHeapFixture heap({.sharing = GetParam()});
  const auto handles = heap.fill(20 * kBlocks, 256);
  SectionReader first(heap);
  SectionReader second(heap);
  first.enter();
  for (size_t page = 0; page < 20; ++page) snug_compact_free(heap, handles[page * kBlocks]);
  ASSERT_GE(heap.stats().rows_not_full, 19u);
  const size_t moving = moving_one(heap, handles);
  ASSERT_LT(moving, handles.size());
  const snug_handle wanted = handles[moving];
  void* const stays = snug_compact_deref(heap, wanted);
  for (int i = 0; i < 100; ++i) {
    for (auto [in, out] : {std::pair(&second, &first), std::pair(&first, &second)}) {
      in->enter();
      ASSERT_EQ(snug_compact_deref(heap, wanted), stays);
      out->leave();
      snug_compact_step(heap, nullptr);
      ASSERT_EQ(snug_compact_deref(heap, wanted), stays);
    }
  }
  first.leave();
  EXPECT_LE(heap.stats().rows_not_full, 3u);
  EXPECT_GE(heap.stats().moves, 16u);
}

// Builds with assertions end the process at a system call under a lock that all classes share.
TEST_P(SharedOptionalLocksTest, TheTableGrowsAndGoesBackInNoTurnOfAll) {
  constexpr size_t kEach = 150'000;
  CompactHeapFixture heap({.sharing = GetParam()});
  const uint64_t before = SharedHolds::taken();
  std::vector<std::thread> threads;
  for (size_t number = 0; number < 2; ++number)
    threads.emplace_back([&] {
      std::vector<snug_handle> handles;
      for (size_t i = 0; i < kEach; ++i) handles.push_back(snug_compact_alloc(heap, 16, 0));
      SectionReader reader(heap);
      reader.enter();
      for (const snug_handle handle : handles) *static_cast<snug_handle*>(snug_compact_deref(heap, handle)) = handle;
      for (const snug_handle handle : handles)
        ASSERT_EQ(*static_cast<snug_handle*>(snug_compact_deref(heap, handle)), handle);
      reader.leave();
      for (const snug_handle handle : handles) snug_compact_free(heap, handle);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(heap.stats().bytes_handles, kEach) << "two leaves of a table, and bits";
  EXPECT_EQ(SharedHolds::taken() != before, SharedHolds::kCounted);
}

TEST_P(SharedOptionalLocksTest, AFunctionsLargeBlockStays) {
  CompactHeapFixture heap({.sharing = GetParam()});
  const snug_handle large = snug_compact_alloc_relocated(heap, 40000, 0, [](void*, void*) { std::abort(); });
  const void* const address = snug_compact_deref(heap, large);
  EXPECT_EQ(snug_compact_resize(heap, large, 100, 0), 0);
  EXPECT_EQ(snug_compact_resize(heap, large, 1000000, 0), -1);
  EXPECT_EQ(snug_compact_deref(heap, large), address);
  snug_compact_free(heap, large);
}

// A function that moves an object and does not come to its end until it may.
std::atomic<void*> moving_from{nullptr};
std::atomic<bool> may_end{false};

void move_slowly(void* from, void* to) {
  std::memcpy(to, from, 256);
  if (may_end) return;
  moving_from = from;
  while (!may_end) std::this_thread::yield();
}

// A thread that looks it up waits for its lock, as does one that frees it, and either may come first: the rounds go on
// until the second has.
TEST_P(SharedOptionalLocksTest, AnObjectThatIsFreedWhileItMovesIsFoundOrGone) {
  size_t gone = 0;
  constexpr int kMost = 10'000;
  for (int round = 0; round < 40 || (gone == 0 && round < kMost); ++round) {
    CompactHeapFixture heap({.not_full = SNUG_COMPACT_NEVER, .sharing = GetParam()});
    std::map<void*, snug_handle> objects;
    std::vector<snug_handle> handles;
    for (size_t i = 0; i < 2 * kBlocks; ++i) {
      handles.push_back(snug_compact_alloc_relocated(heap, 256, 0, move_slowly));
      objects[snug_compact_deref(heap, handles.back())] = handles.back();
    }
    for (const size_t hole : {size_t{0}, kBlocks}) snug_compact_free(heap, handles[hole]);
    SectionReader reader(heap);
    moving_from = nullptr;
    may_end = false;
    std::thread mover([&] { snug_compact_step(heap, nullptr); });
    while (moving_from == nullptr) std::this_thread::yield();
    const snug_handle moving = objects[moving_from];
    std::atomic<int> begun{0};
    std::thread remover([&] { ++begun, snug_compact_free(heap, moving); });
    std::thread looker([&] {
      reader.enter();
      ++begun;
      gone += snug_compact_try_deref(heap, moving) == nullptr ? 1 : 0;
      reader.leave();
    });
    while (begun != 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // both wait now, as a rule
    may_end = true;
    for (std::thread* const thread : {&mover, &remover, &looker}) thread->join();
    EXPECT_EQ(snug_compact_try_deref(heap, moving), nullptr);
    heap.expect_sound();
  }
  EXPECT_NE(gone, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, SharedOptionalLocksTest, shared_heaps(), name_of_sharing);

TEST(SharedTurnsDeathTest, SaysHowAReaderIsUsedWrongly) {
  CompactHeapFixture heap({.sharing = SNUG_COMPACT_CLASS_LOCKS});
  snug_compact_reader* const reader = snug_compact_reader_create(heap);
  snug_compact_enter(heap, reader);
  EXPECT_DEATH(snug_compact_enter(heap, reader), "snug_compact_enter.*the reader is in a section");
  EXPECT_DEATH(snug_compact_reader_destroy(heap, reader), "snug_compact_reader_destroy.*the reader is in a section");
  snug_compact_leave(heap, reader);
  snug_compact_reader_destroy(heap, reader);
  EXPECT_DEATH(snug_compact_reader_destroy(heap, reader), "snug_compact_reader_destroy.*was destroyed before");
}

}  // namespace
}  // namespace snug
