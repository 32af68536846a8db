// What a slice, a step with a budget, may do to its thread: it asks the OS for nothing, and touches no memory first.
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/compiler.h"
#include "compact_heap_fixture.h"

namespace snug {
namespace {

constexpr size_t kPage = 16384;
constexpr size_t kBlocks = 64;  // of 256 bytes in a page
constexpr size_t kPages = 400;
constexpr size_t kLeastSpare = 8 * kPage;
constexpr size_t kRowsAtOnce = 9;
constexpr snug_compact_budget kSlice{0, 8 * 256};

// Three blocks of four are gone, of each page.
void thin_out(snug_compact_heap* heap, const std::vector<snug_handle>& handles, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (i % 4 != 0) snug_compact_free(heap, handles[i]);
}

void do_slices(snug_compact_heap* heap) {
  while (snug_compact_step(heap, &kSlice) == 1) {
  }
}

size_t spare(const CompactHeapFixture& heap) { return heap.stats().bytes_spare; }

class SliceTest : public testing::TestWithParam<snug_compact_sharing> {
 protected:
  // After slices that have emptied three pages of four.
  CompactHeapFixture& sliced() {
    thin_out(heap_, handles_, handles_.size());
    do_slices(heap_);
    EXPECT_EQ(heap_.stats().pages, kPages / 4);
    EXPECT_EQ(spare(heap_), (kPages - kPages / 4) * kPage);
    return heap_;
  }

  const OnOneCore on_one_core_{GetParam() == SNUG_COMPACT_CORES};
  CompactHeapFixture heap_{{.not_full = SNUG_COMPACT_NEVER, .sharing = GetParam()}};
  const std::vector<snug_handle> handles_ = heap_.fill(kPages * kBlocks, 256);
};

// The kernel ends a process in this mode at any call but to read, to write and to exit.
TEST_P(SliceTest, MakesNoSystemCall) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer makes calls of its own";
  thin_out(heap_, handles_, handles_.size());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0) do_slices(heap_);
    ::syscall(SYS_exit, snug_compact_check(heap_) == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(SliceTest, WhatItEmptiesGoesWithTheFreesThatComeAfter) {
  CompactHeapFixture& heap = sliced();
  const size_t rows = (spare(heap) - kLeastSpare) / kPage;
  for (size_t i = 0; i <= rows / kRowsAtOnce; ++i) {
    const size_t before = spare(heap);
    snug_compact_free(heap, handles_[i * 4]);
    EXPECT_LE(before - spare(heap), kRowsAtOnce * kPage);
  }
  EXPECT_EQ(spare(heap), kLeastSpare);
}

TEST_P(SliceTest, WhatItEmptiesGoesWhenARowIsNeeded) {
  CompactHeapFixture& heap = sliced();
  const size_t before = spare(heap);
  const auto others = heap.fill(1, 1200);
  EXPECT_EQ(spare(heap), before - kRowsAtOnce * kPage);
  snug_compact_free(heap, others[0]);
}

TEST_P(SliceTest, WhatItEmptiesGoesWhenItIsAskedFor) {
  CompactHeapFixture& heap = sliced();
  const size_t before = spare(heap);
  EXPECT_EQ(snug_compact_give_back(heap, 5), 5u);
  EXPECT_EQ(spare(heap), before - 5 * kPage);
  EXPECT_EQ(snug_compact_give_back(heap, 0), (before - kLeastSpare) / kPage - 5);
  EXPECT_EQ(spare(heap), kLeastSpare);
  EXPECT_EQ(snug_compact_give_back(heap, 5), 0u);
}

TEST_P(SliceTest, AStepWithoutABudgetKeepsNoMoreThanTheShare) {
  EXPECT_EQ(snug_compact_step(sliced(), nullptr), 0);
  EXPECT_EQ(spare(heap_), kLeastSpare);
}

INSTANTIATE_TEST_SUITE_P(AllHeaps, SliceTest,
                         testing::Values(SNUG_COMPACT_ONE_THREAD, SNUG_COMPACT_ONE_LOCK, SNUG_COMPACT_CLASS_LOCKS,
                                         SNUG_COMPACT_CORES),
                         name_of_sharing);

// Memory that has none behind it until it is touched.
class BareRegion {
 public:
  BareRegion()
      : start_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    EXPECT_NE(start_, MAP_FAILED);
    ::madvise(start_, kBytes, MADV_NOHUGEPAGE);
  }
  ~BareRegion() { ::munmap(start_, kBytes); }
  BareRegion(const BareRegion&) = delete;
  BareRegion& operator=(const BareRegion&) = delete;

  CompactOptions options() const { return {.not_full = SNUG_COMPACT_NEVER, .region = start_, .region_bytes = kBytes}; }
  size_t touched() const {
    std::vector<unsigned char> pages(kBytes / static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(::mincore(start_, kBytes, pages.data()), 0);
    return static_cast<size_t>(std::count_if(pages.begin(), pages.end(), [](auto page) { return page % 2 == 1; }));
  }

 private:
  static constexpr size_t kBytes = size_t{4} << 20;
  void* const start_;
};

// The newest page, of which a part was never used, is the fullest, and others fill each other all the same.
TEST(SliceInARegionTest, TouchesNoMemoryFirst) {
  const BareRegion region;
  CompactHeapFixture heap(region.options());
  const auto handles = heap.fill(10 * kBlocks + kBlocks / 2, 256);
  thin_out(heap, handles, 10 * kBlocks);
  const size_t before = region.touched();
  do_slices(heap);
  EXPECT_EQ(heap.stats().pages, 3u);
  EXPECT_GE(heap.stats().moves, kBlocks);
  EXPECT_LE(region.touched(), before);
  for (size_t i = 0; i < handles.size(); i += i < 10 * kBlocks ? 4 : 1) ASSERT_EQ(heap.number_of(handles[i]), i);
}

}  // namespace
}  // namespace snug
