// Records of the span store, and of others, where the OS gives the arena no memory for them; and what else the store
// does where it is refused.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstring>
#include <vector>

#include "os/system_call_hook.h"
#include "span/own_spans.h"

namespace snug {
namespace {

class SpanRecordsTest : public testing::Test {
 protected:
  // All that the arena has; nothing more comes while mappings are refused.
  void exhaust_arena() {
    while (own.arena.allocate(64) != nullptr) {
    }
  }
  void expect_sound() { EXPECT_EQ(own.spans.check(), nullptr); }
  // Of the chunk that the span lies in.
  uint32_t pages_of_records(const Span* span) {
    PageUse uses[kPagesPerChunk];
    EXPECT_TRUE(own.spans.read_uses(span->first.start_of_chunk(), uses));
    uint32_t count = 0;
    for (const PageUse use : uses) count += use == PageUse::kRecords ? 1 : 0;
    return count;
  }

  unit::OwnSpans own;
};

TEST_F(SpanRecordsTest, PagesOfTheStoreHoldThem) {
  Span* const first = own.spans.allocate({1});
  const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
  exhaust_arena();
  std::vector<Span*> spans;
  // The reservation has 32 chunks, or fewer where addresses are limited.
  for (Span* span = own.spans.allocate({1}); span != nullptr; span = own.spans.allocate({1})) {
    ASSERT_EQ(span->pages.value, 1u) << "no longer than asked for";
    spans.push_back(span);
  }
  const size_t chunks = own.spans.statistics().chunks;
  EXPECT_GE(spans.size(), chunks * kPagesPerChunk * 9 / 10);
  EXPECT_GE(pages_of_records(first), 1u);
  expect_sound();
  for (Span* span : spans) own.spans.free(span, {0});
  own.spans.free(first, {0});
  expect_sound();
}

TEST_F(SpanRecordsTest, AnAlignedSpanIsCutTwice) {
  Span* const first = own.spans.allocate({1});
  const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
  exhaust_arena();
  for (int i = 0; i < 20; ++i) {
    Span* const span = own.spans.allocate({2}, {4});
    ASSERT_NE(span, nullptr);
    EXPECT_EQ(span->pages.value, 2u);
    EXPECT_TRUE(is_aligned(span->first.value, 4));
  }
  expect_sound();
  own.spans.free(first, {0});
}

TEST_F(SpanRecordsTest, ARefusedRequestFindsSomeForOthers) {
  Span* const all = own.spans.allocate({kPagesPerChunk});
  std::memset(own.start_of(all), 1, kChunkSize);
  own.spans.free(all, {kPagesPerChunk});
  const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
  exhaust_arena();
  ASSERT_EQ(own.arena.allocate(64), nullptr);
  own.spans.stock_arena();
  auto* const record = static_cast<const char*>(own.arena.allocate(8192));
  ASSERT_NE(record, nullptr);
  for (size_t i = 0; i < 8192; ++i) ASSERT_EQ(record[i], 0) << "as any record's memory";
  expect_sound();
}

TEST_F(SpanRecordsTest, AStockedArenaTakesNoPage) {
  Span* const span = own.spans.allocate({1});
  for (int i = 0; i < 3; ++i) own.spans.stock_arena();
  EXPECT_EQ(pages_of_records(span), 0u);
  const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
  exhaust_arena();
  for (int i = 0; i < 3; ++i) own.spans.stock_arena();
  EXPECT_EQ(pages_of_records(span), 1u);
  own.spans.free(span, {0});
}

TEST(SpanRecords, AreNeverPutBetweenBlocksWhereTheyAreToLieApart) {
  unit::OwnSpans own;
  own.arena.guard();
  Span* const span = own.spans.allocate({1});
  const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
  while (own.arena.allocate(64) != nullptr) {
  }
  own.spans.stock_arena();
  EXPECT_EQ(own.arena.allocate(64), nullptr);
  own.spans.free(span, {0});
}

// Of each length at two places no more than the shortest.
TEST_F(SpanRecordsTest, WhoeverIsRefusedAgainAsksTwice) {
  ASSERT_NE(own.spans.allocate({1}), nullptr);
  int asked = 0;
  const unit::SystemCallHook refuses(SYS_mmap, [&asked] { return ++asked == 0; });
  while (own.spans.allocate({kPagesPerChunk}) != nullptr) {
  }
  EXPECT_GE(asked, 2);
  asked = 0;
  EXPECT_EQ(own.spans.allocate({kPagesPerChunk}), nullptr);
  EXPECT_EQ(asked, 2);
}

// A filter that refuses all mappings, as far as one call can tell.
TEST_F(SpanRecordsTest, AddressesStayWhereTheyWouldNotComeBack) {
  Span* const span = own.spans.allocate({kPagesPerChunk});
  own.spans.free(span, {0});
  const size_t reserved = own.page_map.bytes_reserved();
  {
    const unit::SystemCallHook refuses(SYS_mmap, [] { return false; });
    EXPECT_FALSE(own.spans.release_addresses());
    Span* const used = own.spans.allocate({kPagesPerChunk});
    own.free_touched(used);
    EXPECT_TRUE(own.spans.trim(0)) << "memory goes alone";
  }
  EXPECT_EQ(own.page_map.bytes_reserved(), reserved);
  EXPECT_TRUE(own.spans.release_addresses());
  EXPECT_LT(own.page_map.bytes_reserved(), reserved);
}

}  // namespace
}  // namespace snug
