// The span store where an OS page holds four pages: what goes back, what stays, and that nothing else goes with it.
#include <gtest/gtest.h>

#include <vector>

#include "os/memory.h"
#include "span/own_spans.h"

namespace snug {
namespace {

constexpr uint32_t kTogether = 4;  // pages on an OS page

class SpansOnLargePages : public unit::OwnSpansTest {
 protected:
  void SetUp() override { ASSERT_EQ(os::page_size(), kTogether * kPageSize); }

  // Spans of so many pages each that fill a chunk, all written to.
  std::vector<Span*> fill_chunk(uint32_t length) {
    std::vector<Span*> spans;
    for (uint32_t done = 0; done != kPagesPerChunk; done += length) {
      spans.push_back(own.spans.allocate({length}));
      own.touch(spans.back(), {length});
    }
    return spans;
  }
  bool is_written(const Span* span) const { return *own.start_of(span) == 1; }
};

TEST_F(SpansOnLargePages, APageStaysUntilItsNeighboursAreFree) {
  const std::vector<Span*> spans = fill_chunk(1);
  for (uint32_t i = 0; i != kTogether; ++i) {
    own.spans.free(spans[i], {1});
    expect_sound();
    EXPECT_EQ(dirty_pages(), i + 1);
    EXPECT_EQ(own.spans.ages(), i + 1 == kTogether) << "only what can go ages";
    if (i + 1 == kTogether) break;
    EXPECT_FALSE(own.spans.trim(0));
  }
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_EQ(dirty_pages(), 0u);
  EXPECT_EQ(own.spans.statistics().bytes_purged, kTogether * kPageSize);
  for (uint32_t i = kTogether; i != kPagesPerChunk; ++i) EXPECT_TRUE(is_written(spans[i])) << i;
}

TEST_F(SpansOnLargePages, WhatFillsNoOsPageStaysAtBothEnds) {
  const std::vector<Span*> spans = fill_chunk(2);
  for (uint32_t i = 1; i != 8; ++i) own.spans.free(spans[i], {2});  // pages 2 to 15: OS pages 1 to 3, and half of 0
  EXPECT_TRUE(own.spans.trim(0));
  EXPECT_EQ(dirty_pages(), 2u);
  EXPECT_FALSE(own.spans.ages());
  EXPECT_TRUE(is_written(spans[0]));
  EXPECT_TRUE(is_written(spans[8]));
  // What went reads as zero, and what stayed is served first where it fits.
  Span* const kept = own.spans.allocate({14});
  EXPECT_EQ(kept->first, spans[0]->first + PageCount{2});
  EXPECT_FALSE(kept->backed);
  EXPECT_FALSE(kept->zeroed);
  EXPECT_EQ(*own.page_map.start_of(kept->first + PageCount{2}), 0);
}

TEST_F(SpansOnLargePages, AnOsPageGoesOnceWhateverPartOfItIsDirty) {
  const std::vector<Span*> spans = fill_chunk(1);
  for (uint32_t i = 0; i != 8; ++i) own.spans.free(spans[i], {1});
  EXPECT_TRUE(own.spans.trim(0));
  Span* const one = own.spans.allocate({1});  // clean again, and one of four is written to
  const PageId place = one->first;
  own.free_touched(one);
  EXPECT_EQ(dirty_pages(), 1u);
  EXPECT_EQ(own.spans.purge(0, SIZE_MAX), kPageSize);
  EXPECT_EQ(dirty_pages(), 0u);
  EXPECT_EQ(*own.page_map.start_of(place), 0);
}

TEST_F(SpansOnLargePages, WhatIsFreedToTheOsLeavesItsNeighbours) {
  const std::vector<Span*> spans = fill_chunk(1);
  own.spans.free_to_os(spans[1], {1});
  EXPECT_EQ(dirty_pages(), 1u);
  EXPECT_TRUE(is_written(spans[0]) && is_written(spans[2]));
  own.spans.free(spans[0], {1});
  own.spans.free(spans[2], {1});
  own.spans.free_to_os(spans[3], {1});
  EXPECT_EQ(dirty_pages(), 0u) << "the four fill an OS page by now";
  EXPECT_TRUE(is_written(spans[4]));
}

}  // namespace
}  // namespace snug
