// A heap with full memory, half of its pages with pinned blocks: it refuses what does not fit, keeps its bound with
// those pages counted apart, and compacts when they are unpinned.
#include <algorithm>

#include "scarce_heap.h"
#include "scarce_memory.h"

namespace snug {
namespace {

using unit::ScarceHeap;
using unit::ScarceRecords;

constexpr size_t kBytes = 1024;
constexpr size_t kBlocks = 16;  // of them in a page
constexpr size_t kLonger = 4096;
constexpr size_t kLongerBlocks = 4;
constexpr size_t kPages = 48;

struct PinnedCase {
  Sharing sharing;
  size_t bound;
};

class PinnedPressureTest : public testing::TestWithParam<PinnedCase> {
 protected:
  PinnedPressureTest() { heap.set_bound(GetParam().bound); }
  // Heaps of cores cannot lie in a region: there it is records that end.
  ~PinnedPressureTest() override { ScarceRecords::refuse_no_more(); }
  bool in_region() const { return GetParam().sharing != Sharing::kCores; }

  // As many as there is room for.
  std::vector<HandleWord> fill_up(size_t bytes) {
    std::vector<HandleWord> handles = heap.fill(SIZE_MAX, bytes);
    expect_refusal(bytes);
    return handles;
  }
  // What is refused changes nothing.
  void expect_refusal(size_t bytes) {
    const ScarceHeap::Totals before = heap.totals();
    EXPECT_EQ(heap.allocate(bytes), 0u);
    const ScarceHeap::Totals after = heap.totals();
    EXPECT_EQ(after.pages, before.pages);
    EXPECT_EQ(after.bytes_blocks, before.bytes_blocks);
    EXPECT_EQ(after.bytes_free, before.bytes_free);
    look();
  }
  void look() {
    heap.expect_sound();
    heap.expect_bound_of(kBytes);
    heap.expect_bound_of(kLonger);
  }
  void free(HandleWord handle) {
    heap.free(handle);
    look();
  }
  void free_all(const std::vector<HandleWord>& handles) {
    for (const HandleWord handle : handles) free(handle);
  }
  // A block of every other page. Returns them.
  std::vector<HandleWord> pin_half() {
    std::vector<HandleWord> pinned;
    size_t number = 0;
    for (const auto& [page, blocks] : heap.by_page(kBytes)) {
      if (number++ % 2 != 0) continue;
      pinned.push_back(blocks[number % blocks.size()]);
      heap.pin(pinned.back());
      EXPECT_FALSE(heap.resize(pinned.back(), 2 * kBytes)) << "it is pinned, and too short";
      look();
    }
    return pinned;
  }
  // Three blocks of four go, and slices begin moves where the bound leaves any to them.
  void thin_out() {
    size_t in_flight = 0;
    size_t number = 0;
    for (const HandleWord handle : heap.handles()) {
      if (heap.pins_of(handle) != 0 || ++number % 4 == 0) continue;
      free(handle);
      heap.step(ScarceHeap::kIncrement);
      in_flight += heap.moving() != 0 ? 1 : 0;
      look();
    }
    EXPECT_EQ(in_flight != 0, GetParam().bound > 1);
  }
  // Pages that hold pinned blocks, and the fewest that the blocks of all others fit in.
  size_t least_pages() {
    size_t pinned = 0;
    size_t others = 0;
    for (const auto& [page, blocks] : heap.by_page(kBytes)) {
      const bool holds_pin = std::ranges::any_of(blocks, [this](auto handle) { return heap.pins_of(handle) != 0; });
      pinned += holds_pin ? 1 : 0;
      others += holds_pin ? 0 : blocks.size();
    }
    return pinned + (others + kBlocks - 1) / kBlocks;
  }
  void make_scarce() {
    if (!in_region()) ScarceRecords::refuse_more();
  }

  unit::ScarceStore store;
  unit::ScarceRegion region{kPages};
  ScarceHeap heap{GetParam().sharing, in_region() ? region.source() : store.source(),
                  in_region() ? kPages* kBlocks : 0};
};

TEST_P(PinnedPressureTest, RefusesKeepsItsBoundAndComesTogetherWhenItIsUnpinned) {
  const size_t extra = heap.heaps() - 1;  // each core's heap may have a page that is not full
  if (!in_region()) {
    // Both classes are known in all heaps before records become scarce.
    free_all(heap.fill(2, kLonger));
    heap.fill(kPages * kBlocks, kBytes);
  }
  make_scarce();
  fill_up(kBytes);
  const auto pinned = pin_half();
  EXPECT_GE(pinned.size(), kPages / 2 - 2);
  expect_refusal(kBytes);
  thin_out();
  while (heap.step(0)) {
  }
  look();
  EXPECT_EQ(heap.totals().rows_held, pinned.size());
  EXPECT_GE(heap.totals().pages, pinned.size());
  EXPECT_LE(heap.totals().pages, least_pages() + extra) << "those without pins have come together";

  const auto longer = fill_up(kLonger);
  EXPECT_GT(longer.size(), kPages / 4 * kLongerBlocks) << "what has emptied serves others";
  const size_t holes = heap.totals_of(kBytes).bytes_free / kBytes;
  EXPECT_GT(holes, pinned.size() * kBlocks / 2);
  const size_t pages = heap.totals().pages;
  const auto in_holes = heap.fill(holes, kBytes);
  EXPECT_EQ(in_holes.size(), holes) << "pages with pins cannot be emptied, but filled";
  EXPECT_EQ(heap.totals().pages, pages);
  EXPECT_FALSE(heap.resize(in_holes[0], kLonger)) << "there is no room";
  look();
  free_all(in_holes);
  free_all(longer);

  const size_t before = heap.totals().pages;
  for (const HandleWord handle : pinned) {
    const uint64_t moves = heap.totals().moves.finished;
    heap.unpin(handle);
    EXPECT_LE(heap.totals().moves.finished - moves, kBlocks) << "as many moves as a page has blocks";
    look();
  }
  EXPECT_EQ(heap.totals().rows_held, 0u);
  while (heap.step(0)) {
  }
  look();
  const size_t after = heap.totals().pages;
  EXPECT_LE(after, least_pages() + extra);
  EXPECT_LT(after, before);
  const auto more = fill_up(kLonger);
  // The last page may go to records.
  EXPECT_GE(more.size() + kLongerBlocks, longer.size() + (before - after) * kLongerBlocks);
  free_all(more);
  free_all(heap.handles());
}

INSTANTIATE_TEST_SUITE_P(All, PinnedPressureTest,
                         testing::Values(PinnedCase{Sharing::kOneThread, 1}, PinnedCase{Sharing::kOneThread, 3},
                                         PinnedCase{Sharing::kHeap, 1}, PinnedCase{Sharing::kHeap, 3},
                                         PinnedCase{Sharing::kClasses, 1}, PinnedCase{Sharing::kClasses, 3},
                                         PinnedCase{Sharing::kCores, 1}, PinnedCase{Sharing::kCores, 3}),
                         [](const auto& tested) {
                           return unit::name_of(tested.param.sharing) + std::to_string(tested.param.bound);
                         });

}  // namespace
}  // namespace snug
