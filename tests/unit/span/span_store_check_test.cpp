// What the span store's check() sees: each part of what its header states, broken on purpose.
#include <gtest/gtest.h>

#include <utility>

#include "span/own_spans.h"

namespace snug {
namespace {

// A chunk with a free span of three dirty pages between used ones.
class SpanStoreCheckTest : public testing::Test {
 protected:
  SpanStoreCheckTest() {
    free = own.spans.allocate({3});
    used = own.spans.allocate({5});
    own.free_touched(free);
  }
  void TearDown() override { EXPECT_STREQ(own.spans.check(), nullptr); }

  template <class T>
  void expect_told(T& word, T planted, const char* told) {
    const T right = std::exchange(word, planted);
    EXPECT_STREQ(own.spans.check(), told);
    word = right;
  }
  void expect_told_of_tag(PageId page, PageEntry planted, const char* told) {
    const PageEntry right = own.page_map.entry(page);
    own.page_map.set_entry(page, planted);
    EXPECT_STREQ(own.spans.check(), told);
    own.page_map.set_entry(page, right);
  }

  unit::OwnSpans own;
  Span* free;
  Span* used;
};

TEST_F(SpanStoreCheckTest, BinsAndCounts) {
  expect_told(free->pages, PageCount{4}, "span store: a span lies in a bin of another length");
  expect_told(free->dirty, false, "span store: a free span is binned as clean and is dirty, or the reverse");
  Chunk& chunk = own.page_map.chunk(free->first);
  expect_told(chunk.free_pages, uint16_t{kPagesPerChunk},
              "span store: a chunk's record says wrongly how much of it is free");
  const uint64_t cleaner = chunk.dirty[0] & ~(uint64_t{1} << (free->first.in_chunk() + 1));
  expect_told(chunk.dirty[0], cleaner, "span store: the page counts are wrong");
}

TEST_F(SpanStoreCheckTest, TagsOfAChunk) {
  const PageEntry entry = PageEntry::free_span(free);
  expect_told_of_tag(free->first, PageEntry(), "span store: the boundary tags of a free span do not name it");
  expect_told_of_tag(used->first, entry, "span store: two free spans are neighbours");
  expect_told_of_tag(used->first + PageCount{2}, entry, "span store: a tag leads to no free span that begins there");
  expect_told(own.page_map.chunk(free->first).is_ours, false,
              "span store: the tags of chunks do not lead to what lies in the bins");
  expect_told(own.page_map.chunk(own.page_map.end_reserved() - PageCount{kPagesPerChunk}).is_ours, true,
              "span store: the counts of chunks and mappings are wrong");
  own.page_map.set_class(free->first + PageCount{1}, 1);
  EXPECT_STREQ(own.spans.check(), "span store: a page of a free span has a class");
  own.page_map.set_class(free->first + PageCount{1}, 0);
}

TEST_F(SpanStoreCheckTest, ReleasedChunks) {
  Span* const whole = own.spans.allocate({kPagesPerChunk});
  const PageId gone = whole->first;
  own.spans.free(whole, {1});
  EXPECT_TRUE(own.spans.trim(0));
  expect_told(own.page_map.chunk(gone).is_released, false, "span store: the record of a released chunk says it is not");
  expect_told(own.page_map.chunk(used->first).is_released, true, "span store: a released chunk is ours");
  expect_told(own.page_map.chunk(own.page_map.end_reserved() - PageCount{kPagesPerChunk}).is_released, true,
              "span store: a chunk counts as released and is not");
}

TEST_F(SpanStoreCheckTest, Runs) {
  const void* const run = own.spans.allocate_run({kPagesPerChunk + 10}, {1});
  ASSERT_NE(run, nullptr);
  Span* const first = own.page_map.entry(own.page_map.page_of(run)).record<Span>();
  Span* const last = own.page_map.entry(first->first + first->pages).record<Span>();
  expect_told(first->run, first->run - PageCount{1}, "span store: the spans of a run do not add up to its length");
  expect_told(first->run, PageCount{}, "span store: the counts of runs are wrong");
  expect_told(last->pages, PageCount{3}, "span store: a run is no row of whole chunks");
  expect_told(last->pages, last->pages + PageCount{1}, "span store: the spans of a run do not add up to its length");
  expect_told(last->run, PageCount{1}, "span store: a run is no row of whole chunks");
  expect_told_of_tag(last->first, PageEntry(), "span store: the spans of a run do not add up to its length");
}

}  // namespace
}  // namespace snug
