// A compacting heap that several threads have: what stays while a reader is inside, and what is made up for afterwards.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/compiler.h"
#include "compact_heap_fixture.h"

namespace snug {
namespace {

constexpr size_t kBlocks = 64;  // of 256 bytes in a page

// So that a block of one page is to move into the other.
void free_in_two_pages(snug_compact_heap* heap, const std::vector<snug_handle>& handles) {
  snug_compact_free(heap, handles[0]);
  snug_compact_free(heap, handles[kBlocks]);
}

class SharedCompactHeapTest : public testing::TestWithParam<snug_compact_sharing> {
 protected:
  CompactOptions options(size_t not_full = 1, size_t increment = 0) const {
    return {.not_full = not_full, .increment = increment, .sharing = GetParam()};
  }
  // The first `count` blocks of each of 20 pages, while a reader keeps all others from moving.
  static void free_beside_a_reader(CompactHeapFixture& heap, const std::vector<snug_handle>& handles, size_t count) {
    SectionReader reader(heap);
    reader.enter();
    for (size_t page = 0; page < 20; ++page)
      for (size_t i = 0; i < count; ++i) snug_compact_free(heap, handles[page * kBlocks + i]);
    reader.leave();
  }

 private:
  const OnOneCore on_one_core_{GetParam() == SNUG_COMPACT_CORES};
};

TEST_P(SharedCompactHeapTest, WhatAReaderMayHaveLookedUpStaysUntilItHasLeft) {
  CompactHeapFixture heap(options());
  const auto handles = heap.fill(3 * kBlocks, 256);
  SectionReader reader(heap);
  reader.enter();
  std::vector<void*> seen;
  for (const snug_handle handle : handles) seen.push_back(snug_compact_deref(heap, handle));
  // A hole in each page: two blocks should move, and none may.
  for (size_t page = 0; page < 3; ++page) snug_compact_free(heap, handles[page * kBlocks]);
  EXPECT_EQ(heap.stats().moves, 0u);
  EXPECT_EQ(heap.stats().moves_in_flight, 1u);
  EXPECT_EQ(snug_compact_step(heap, nullptr), 1) << "something is left to do";
  for (size_t i = 0; i < handles.size(); ++i) {
    if (i % kBlocks == 0) continue;
    ASSERT_EQ(*static_cast<size_t*>(seen[i]), i);
    ASSERT_EQ(snug_compact_deref(heap, handles[i]), seen[i]);
  }
  reader.leave();
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
  EXPECT_GE(heap.stats().moves, 2u);
  for (size_t i = 0; i < handles.size(); ++i)
    if (i % kBlocks != 0) {
      ASSERT_EQ(heap.number_of(handles[i]), i);
    }
}

TEST_P(SharedCompactHeapTest, WhatWasNotMovedForAReaderIsMadeUpForByTheFreesAfterIt) {
  CompactHeapFixture heap(options());
  const auto handles = heap.fill(41 * kBlocks, 256);
  SectionReader reader(heap);
  reader.enter();
  for (size_t page = 0; page < 20; ++page) snug_compact_free(heap, handles[page * kBlocks]);
  EXPECT_EQ(heap.stats().rows_not_full, 19u) << "and one more that a block is to fill";
  reader.leave();
  size_t frees = 0;
  while (heap.stats().rows_not_full > 1) {
    ASSERT_LT(frees, 20u) << "each free moves more than it asks for";
    const uint64_t before = heap.stats().moves;
    snug_compact_free(heap, handles[(20 + frees++) * kBlocks]);
    ASSERT_LE(heap.stats().moves - before, 3u);
  }
}

TEST_P(SharedCompactHeapTest, AResizeMakesUpForNoMoreThanAFree) {
  CompactHeapFixture heap(options());
  const auto handles = heap.fill(41 * kBlocks, 256);
  free_beside_a_reader(heap, handles, 1);
  const uint64_t before = heap.stats().moves;
  ASSERT_EQ(snug_compact_resize(heap, handles[20 * kBlocks], 1000, 0), 0);
  EXPECT_GE(heap.stats().moves, before + 1);
  EXPECT_LE(heap.stats().moves, before + 3);
}

TEST_P(SharedCompactHeapTest, AnUnpinMakesUpForAPage) {
  CompactHeapFixture heap(options());
  const auto handles = heap.fill(41 * kBlocks, 256);
  snug_compact_pin(heap, handles[40 * kBlocks]);
  free_beside_a_reader(heap, handles, kBlocks / 2);
  const uint64_t before = heap.stats().moves;
  snug_compact_unpin(heap, handles[40 * kBlocks]);
  EXPECT_GE(heap.stats().moves, before + kBlocks);
  EXPECT_LE(heap.stats().moves, before + kBlocks + 2);
}

TEST_P(SharedCompactHeapTest, AMoveThatWaitsIsCalledOffByWhoWantsTheBlock) {
  CompactHeapFixture heap(options());
  const auto handles = heap.fill(2 * kBlocks, 256);
  SectionReader first(heap);
  SectionReader second(heap);
  first.enter();
  free_in_two_pages(heap, handles);
  ASSERT_EQ(heap.stats().moves_in_flight, 1u);
  second.enter();
  first.leave();
  // The second has entered after the move began, and could not keep it up but by asking.
  std::vector<void*> seen;
  for (const snug_handle handle : handles)
    seen.push_back(handle == handles[0] || handle == handles[kBlocks] ? nullptr : snug_compact_deref(heap, handle));
  EXPECT_EQ(snug_compact_step(heap, nullptr), 1);
  EXPECT_EQ(heap.stats().moves_aborted, 1u);
  EXPECT_EQ(heap.stats().moves, 0u);
  for (size_t i = 0; i < handles.size(); ++i)
    if (seen[i] != nullptr) {
      ASSERT_EQ(snug_compact_deref(heap, handles[i]), seen[i]);
    }
  second.leave();
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(heap.stats().moves, 1u);
}

TEST_P(SharedCompactHeapTest, AMoveWaitsForNobodyWhoEnteredAfterIt) {
  CompactHeapFixture heap(options());
  const auto handles = heap.fill(2 * kBlocks, 256);
  SectionReader first(heap);
  SectionReader second(heap);
  first.enter();
  free_in_two_pages(heap, handles);
  second.enter();
  first.leave();
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(heap.stats().moves, 1u);
  second.leave();
}

TEST_P(SharedCompactHeapTest, ABlockThatGoesTakesItsMoveWithIt) {
  CompactHeapFixture heap(options());
  auto handles = heap.fill(2 * kBlocks, 256);
  SectionReader reader(heap);
  reader.enter();
  free_in_two_pages(heap, handles);
  ASSERT_EQ(heap.stats().moves_in_flight, 1u);
  const size_t moving = moving_one(heap, handles);
  ASSERT_LT(moving, handles.size());
  snug_compact_free(heap, handles[moving]);
  EXPECT_EQ(heap.stats().moves_aborted, 1u);
  reader.leave();
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(heap.stats().blocks, 2 * kBlocks - 3);
  for (size_t i = 1; i < handles.size(); ++i) {
    if (i == kBlocks || i == moving) continue;
    ASSERT_EQ(heap.number_of(handles[i]), i);
  }
  EXPECT_EQ(snug_compact_try_deref(heap, handles[moving]), nullptr);
}

TEST_P(SharedCompactHeapTest, APinnedBlockGivesItsMoveUp) {
  CompactHeapFixture heap(options());
  const auto handles = heap.fill(2 * kBlocks, 256);
  SectionReader reader(heap);
  reader.enter();
  free_in_two_pages(heap, handles);
  const size_t moving = moving_one(heap, handles);
  ASSERT_LT(moving, handles.size());
  const void* const address = snug_compact_pin(heap, handles[moving]);
  reader.leave();
  EXPECT_EQ(snug_compact_step(heap, nullptr), 0);
  EXPECT_EQ(snug_compact_deref(heap, handles[moving]), address);
  snug_compact_unpin(heap, handles[moving]);
  EXPECT_EQ(heap.stats().rows_not_full, 1u);
}

TEST_P(SharedCompactHeapTest, ReadersServeAgain) {
  CompactHeapFixture heap(options());
  snug_compact_reader* const first = snug_compact_reader_create(heap);
  snug_compact_reader_destroy(heap, first);
  snug_compact_reader_destroy(heap, nullptr);
  snug_compact_reader* const second = snug_compact_reader_create(heap);
  EXPECT_EQ(first, second);
  snug_compact_reader* const third = snug_compact_reader_create(heap);
  EXPECT_NE(second, third);
  snug_compact_reader_destroy(heap, second);
  snug_compact_reader_destroy(heap, third);
}

// What a signal handler does that interrupts the mover: a page of the block is out of reach until then.
struct WriteInTheMiddle {
  static constexpr size_t kBytes = 3 * 4096, kFirst = 2000, kLast = 2 * 4096 + 2000;

  snug_compact_heap* heap = nullptr;
  snug_compact_reader* reader = nullptr;
  snug_handle handle = 0;
  char* block = nullptr;
  int faults = 0;

  void write() {
    ++faults;
    mprotect(block + 4096, 4096, PROT_READ | PROT_WRITE);
    snug_compact_enter(heap, reader);
    char* const found = static_cast<char*>(snug_compact_deref(heap, handle));
    found[kFirst] = found[kLast] = 'w';
    snug_compact_leave(heap, reader);
  }
};
WriteInTheMiddle* in_the_middle = nullptr;

TEST_P(SharedCompactHeapTest, WhatIsWrittenWhileTheBlockIsCopiedIsNotLost) {
  CompactHeapFixture heap(options(1, WriteInTheMiddle::kBytes));
  std::vector<snug_handle> handles;
  for (int i = 0; i < 64; ++i) handles.push_back(snug_compact_alloc(heap, WriteInTheMiddle::kBytes, 4096));
  SectionReader first(heap);
  SectionReader second(heap);
  first.enter();
  // Until one is on its way, and waits.
  size_t freed = 0;
  while (heap.stats().moves_in_flight == 0) snug_compact_free(heap, std::exchange(handles[freed++ * 7], 0));
  const size_t moving = moving_one(heap, handles);
  ASSERT_LT(moving, handles.size());
  snug_compact_view view;
  snug_compact_get_view(heap, &view);
  const snug_handle handle = handles[moving];
  WriteInTheMiddle write{heap, second.get(), handle,
                         reinterpret_cast<char*>((view.slots[static_cast<uint32_t>(handle)] ^ handle) << 1 >> 1)};
  in_the_middle = &write;
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = [](int) { in_the_middle->write(); };
  sigaction(SIGSEGV, &action, &before);
  first.leave();
  ASSERT_EQ(mprotect(write.block + 4096, 4096, PROT_NONE), 0);
  snug_compact_step(heap, nullptr);
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(write.faults, 1) << "else nothing was tried";
  EXPECT_EQ(heap.stats().moves_aborted, 1u);
  const char* const found = static_cast<char*>(snug_compact_deref(heap, handle));
  EXPECT_EQ(found[WriteInTheMiddle::kFirst], 'w');
  EXPECT_EQ(found[WriteInTheMiddle::kLast], 'w');
}

std::atomic<bool> is_relocating{false};
std::atomic<bool> is_looked_up{false};

// Stays in the middle until a thread wants the block, and a little longer.
void relocate_slowly(void* from, void* to) {
  is_relocating = true;
  while (!is_looked_up) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::memcpy(to, from, 256);
  is_relocating = false;
}

TEST_P(SharedCompactHeapTest, WhoLooksUpAnObjectThatAFunctionMovesWaitsForIt) {
  is_relocating = is_looked_up = false;
  CompactHeapFixture heap(options(SNUG_COMPACT_NEVER));
  std::vector<snug_handle> handles;
  for (size_t i = 0; i < 2 * kBlocks; ++i)
    handles.push_back(snug_compact_alloc_relocated(heap, 256, 0, relocate_slowly));
  snug_compact_free(heap, std::exchange(handles[0], 0));
  snug_compact_free(heap, std::exchange(handles[kBlocks], 0));
  SectionReader reader(heap);
  std::thread mover([&] {
    const snug_compact_budget one_move{0, 1};
    snug_compact_step(heap, &one_move);
  });
  while (!is_relocating) std::this_thread::yield();
  const size_t moving = moving_one(heap, handles);
  ASSERT_LT(moving, handles.size());
  reader.enter();
  is_looked_up = true;
  const void* const found = snug_compact_deref(heap, handles[moving]);
  EXPECT_FALSE(is_relocating);
  mover.join();
  EXPECT_EQ(snug_compact_deref(heap, handles[moving]), found);
  reader.leave();
  EXPECT_EQ(heap.stats().moves, 1u);
}

INSTANTIATE_TEST_SUITE_P(All, SharedCompactHeapTest, shared_heaps(), name_of_sharing);

TEST(SharedCompactHeapDeathTest, SaysWhatReadersMayNot) {
  CompactHeapFixture own;
  EXPECT_DEATH(snug_compact_reader_create(own), "snug_compact_reader_create.*the heap is one thread's");
  CompactHeapFixture heap({.sharing = SNUG_COMPACT_CLASS_LOCKS});
  SectionReader reader(heap);
  reader.enter();
  EXPECT_DEATH(snug_compact_reader_destroy(heap, reader.get()),
               "snug_compact_reader_destroy.*the reader is in a section");
  reader.leave();
  const auto handles = heap.fill(2, 100);
  snug_compact_free(heap, handles[0]);
  EXPECT_DEATH(snug_compact_free(heap, handles[0]), "snug_compact_free.*names no block");
  EXPECT_DEATH(snug_compact_deref(heap, handles[0]), "snug_compact_deref.*names no block");
}

TEST(SharedCompactHeapTest, ADirectHeapIsOneThreadsOwn) {
  EXPECT_EQ((CompactOptions{.direct = 1, .sharing = SNUG_COMPACT_ONE_LOCK}).create(), nullptr);
  EXPECT_EQ((CompactOptions{.direct = 1, .sharing = SNUG_COMPACT_CORES}).create(), nullptr);
  // C++ has no such value of the type, as a sanitizer knows; C has.
  if (!kSanitized) {
    EXPECT_EQ((CompactOptions{.sharing = static_cast<snug_compact_sharing>(4)}).create(), nullptr);
  }
}

}  // namespace
}  // namespace snug
