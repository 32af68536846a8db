// Which threads wait while a heap's pages and records come and go: none that wants another class, and none at all while
// memory goes back.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "compact/compact_fit.h"

namespace snug {
namespace {

constexpr size_t kBlocks = 64;  // of 256 bytes in a page

// What another thread does while the heap has a record made or freed.
void (*meanwhile)() = nullptr;
size_t looks = 0;

// Ends the process if the other thread waits: it would do so for ever.
void look() {
  if (meanwhile == nullptr) return;
  void (*const act)() = std::exchange(meanwhile, nullptr);
  ++looks;
  auto done = std::async(std::launch::async, act);
  if (done.wait_for(std::chrono::minutes(10)) != std::future_status::ready) std::abort();
  meanwhile = act;
}

void* allocate_record(size_t bytes) {
  look();
  return allocate_aligned(kCacheLine, bytes);
}
void free_record(void* record) {
  look();
  deallocate(record);
}

class WaitingTest : public testing::TestWithParam<Sharing> {
 protected:
  WaitingTest() {
    EXPECT_TRUE(allocator.ensure_open());
    heap = new CompactFit(kFineMap, PageSource(allocator.spans, allocator.mappings, {allocate_record, free_record}), 0,
                          GetParam());
    EXPECT_TRUE(heap->handles().open(HandleTable::kStep));
    looks = 0;
    for (const size_t bytes : {256, 100}) heap->free(heap->allocate(bytes, 1));  // the classes are there
  }
  ~WaitingTest() override {
    meanwhile = nullptr;
    EXPECT_EQ(heap->check(), nullptr);
    heap->close();
    delete heap;
  }
  static std::vector<HandleWord> fill(size_t count, size_t bytes) {
    std::vector<HandleWord> handles;
    for (size_t i = 0; i < count; ++i) handles.push_back(heap->allocate(bytes, 1));
    return handles;
  }

  static inline CompactFit* heap = nullptr;
};

TEST_P(WaitingTest, NobodyWaitsWhileSomethingGoesBack) {
  const auto handles = fill(30 * kBlocks, 256);
  const HandleWord large = heap->allocate(size_t{4} << 20, 1);
  meanwhile = [] {
    for (const size_t bytes : {size_t{256}, size_t{100}, size_t{4} << 20}) heap->free(heap->allocate(bytes, 1));
  };
  for (const HandleWord handle : handles) heap->free(handle);
  EXPECT_GE(looks, 20u);
  looks = 0;
  heap->free(large);
  EXPECT_GE(looks, 1u);
}

TEST_P(WaitingTest, OtherClassesDoNotWaitForPages) {
  if (GetParam() != Sharing::kClasses) GTEST_SKIP() << "the heap has one lock";
  meanwhile = [] { heap->free(heap->allocate(100, 1)); };
  const auto handles = fill(30 * kBlocks, 256);
  EXPECT_GE(looks, 20u);
  meanwhile = nullptr;
  for (const HandleWord handle : handles) heap->free(handle);
}

// The old page's lock is not held while the heap gets the new page.
TEST_P(WaitingTest, WhoPinsABlockThatIsResizedKeepsItsPlace) {
  if (GetParam() != Sharing::kClasses) GTEST_SKIP() << "the heap has one lock";
  static HandleWord handle;
  static char* pinned;
  handle = heap->allocate(256, 1);
  pinned = nullptr;
  meanwhile = [] {
    if (pinned == nullptr) pinned = static_cast<char*>(heap->pin(handle));
  };
  EXPECT_FALSE(heap->resize(handle, 5000, 1));
  meanwhile = nullptr;
  ASSERT_NE(pinned, nullptr) << "nothing was made on the way";
  EXPECT_EQ(heap->address(handle, "test"), pinned);
  heap->unpin(handle);
  EXPECT_TRUE(heap->resize(handle, 5000, 1));
  heap->free(handle);
}

// Of a class as of the whole heap.
TEST_P(WaitingTest, WhoAsksWhatTheHeapHoldsWaitsForItsTurn) {
  const HandleWord handle = heap->allocate(256, 1);
  std::atomic<bool> is_told{false};
  std::thread asks;
  heap->for_each_block([&](HandleWord, char*, size_t) {
    asks = std::thread([&] {
      CompactFit::Totals totals;
      heap->totals_of(256, totals);
      is_told = true;
    });
    for (int i = 0; i < 10000 && !is_told; ++i) std::this_thread::yield();
    EXPECT_FALSE(is_told) << "the heap stands still";
  });
  asks.join();
  EXPECT_TRUE(is_told);
  heap->free(handle);
}

std::string name_of(const testing::TestParamInfo<Sharing>& info) {
  constexpr const char* kNames[] = {"OneThread", "OneLock", "ClassLocks", "Cores"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, WaitingTest, testing::Values(Sharing::kHeap, Sharing::kClasses, Sharing::kCores),
                         name_of);

}  // namespace
}  // namespace snug
