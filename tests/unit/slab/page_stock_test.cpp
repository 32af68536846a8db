#include "heap/page_stock.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace snug {
namespace {

class PageStockTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(stock_.check(), nullptr); }

  // A batch of spans, each of so many pages.
  SpanBatch batch_of(const std::vector<uint32_t>& pages) {
    SpanBatch batch;
    for (const uint32_t count : pages) {
      spans_.push_back(std::make_unique<Span>());
      spans_.back()->pages = {count};
      batch.push_back(spans_.back().get());
    }
    return batch;
  }
  static std::vector<uint32_t> lengths(SpanBatch& batch) {
    std::vector<uint32_t> lengths;
    while (const Span* const span = batch.pop_front()) lengths.push_back(span->pages.value);
    return lengths;
  }

  PageStock stock_;
  std::vector<std::unique_ptr<Span>> spans_;
};

TEST_F(PageStockTest, TakesSpansOfOnePageAndLeavesTheOthers) {
  SpanBatch batch = batch_of({1, 2, 1, 3, 1});
  stock_.put(batch, PageStock::kMost);
  EXPECT_EQ(stock_.count(), 3u);
  EXPECT_EQ(lengths(batch), (std::vector<uint32_t>{2, 3}));
  for (int left = 3; left != 0; --left) EXPECT_EQ(stock_.take()->pages.value, 1u);
  EXPECT_EQ(stock_.take(), nullptr);
  EXPECT_EQ(stock_.count(), 0u);
}

TEST_F(PageStockTest, IsFullAtItsBound) {
  SpanBatch batch = batch_of(std::vector<uint32_t>(PageStock::kMost + 5, 1));
  stock_.put(batch, PageStock::kMost);
  EXPECT_EQ(stock_.count(), PageStock::kMost);
  EXPECT_EQ(lengths(batch).size(), 5u);
  ASSERT_NE(stock_.take(), nullptr);
  SpanBatch more = batch_of({1, 1});
  stock_.put(more, PageStock::kMost);
  EXPECT_EQ(lengths(more).size(), 1u);
}

TEST_F(PageStockTest, TakesNoMoreThanItIsTold) {
  SpanBatch batch = batch_of({1, 1, 1});
  stock_.put(batch, 0);
  EXPECT_EQ(stock_.count(), 0u);
  stock_.put(batch, 2);
  EXPECT_EQ(stock_.count(), 2u);
  stock_.put(batch, 1);
  EXPECT_EQ(lengths(batch).size(), 1u);
}

TEST_F(PageStockTest, ComesHomeOnceItHasNotBeenTakenFrom) {
  SpanBatch batch = batch_of({1, 1, 1});
  stock_.put(batch, PageStock::kMost);
  ASSERT_NE(stock_.take(), nullptr);
  SpanBatch home;
  stock_.empty(home, true);
  EXPECT_TRUE(home.empty()) << "it was used";
  stock_.empty(home, true);
  EXPECT_EQ(lengths(home).size(), 2u);
  EXPECT_EQ(stock_.count(), 0u);
  SpanBatch used = batch_of({1});
  stock_.put(used, PageStock::kMost);
  ASSERT_NE(stock_.take(), nullptr);
  SpanBatch again = batch_of({1});
  stock_.put(again, PageStock::kMost);
  stock_.empty(home, false);
  EXPECT_EQ(lengths(home).size(), 1u) << "at once, if asked so";
}

TEST_F(PageStockTest, ASpanOfSeveralPagesIsFound) {
  SpanBatch batch = batch_of({1});
  stock_.put(batch, PageStock::kMost);
  spans_.back()->pages = {2};
  EXPECT_STREQ(stock_.check(), "page stock: a span is of several pages");
  spans_.back()->pages = {1};
}

// As the span store says it of a span that it hands out.
TEST_F(PageStockTest, APageThatWasWrittenIsBackedAndNotZeroed) {
  SpanBatch batch = batch_of({1, 1});
  Span& untouched = *batch.front();
  untouched.zeroed = true;
  Span& written = *SpanBatch::next(batch.front());
  written.zeroed = true;
  written.written = {1};
  stock_.put(batch, PageStock::kMost);
  while (stock_.take() != nullptr) {
  }
  EXPECT_TRUE(untouched.zeroed);
  EXPECT_FALSE(untouched.backed);
  EXPECT_FALSE(written.zeroed);
  EXPECT_TRUE(written.backed);
}

}  // namespace
}  // namespace snug
