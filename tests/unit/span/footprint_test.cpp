// What the stores count as held, and what they refuse at the limit.
#include "span/footprint.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <vector>

#include "os/system_call_hook.h"
#include "span/own_large.h"
#include "span/own_spans.h"

namespace snug::unit {
namespace {

class FootprintTest : public OwnSpansTest {
 protected:
  // Pages that the store holds.
  size_t held() const { return (own.footprint.held() - own.arena.bytes_held()) / kPageSize; }
  // Half a page is for records.
  void limit_to(size_t more_pages) {
    own.footprint.set_limits(SIZE_MAX, own.footprint.held() + more_pages * kPageSize + kPageSize / 2);
  }
};

TEST_F(FootprintTest, APageIsHeldUntilItHasGoneBack) {
  Span* const span = own.spans.allocate({10});
  EXPECT_EQ(held(), 10u);
  own.touch(span, {4});
  own.spans.free(span, {4});  // the other six were never written
  EXPECT_EQ(held(), 4u);
  Span* const again = own.spans.allocate({2});
  EXPECT_EQ(held(), 4u) << "it is one that is held";
  own.spans.free(again, {2});
  own.spans.trim(0);
  EXPECT_EQ(held(), 0u);
}

TEST_F(FootprintTest, ARefusedSpanLeavesAllAsItWas) {
  limit_to(8);
  Span* const first = own.spans.allocate({6});
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(own.spans.allocate({3}), nullptr);
  expect_sound();
  EXPECT_EQ(held(), 6u);
  Span* const second = own.spans.allocate({2}, {2});
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(own.spans.allocate({1}), nullptr);
  own.free_touched(first);
  own.free_touched(second);
  EXPECT_EQ(held(), 8u);
  EXPECT_EQ(own.spans.allocate({20}), nullptr) << "what is free is held too";
  own.spans.trim(0);
  EXPECT_EQ(held(), 0u);
}

TEST_F(FootprintTest, RunsAreRefusedAndLengthenedByWhatIsFree) {
  limit_to(3 * kPagesPerChunk);
  EXPECT_EQ(own.spans.allocate_run({3 * kPagesPerChunk + 1}, {1}), nullptr);
  void* const run = own.spans.allocate_run({2 * kPagesPerChunk + 10}, {1});
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(held(), 2 * kPagesPerChunk + 10u);
  EXPECT_FALSE(own.spans.resize_run(run, {3 * kPagesPerChunk + 5}));
  EXPECT_EQ(held(), 2 * kPagesPerChunk + 10u);
  EXPECT_TRUE(own.spans.resize_run(run, {3 * kPagesPerChunk}));
  EXPECT_EQ(held(), 3u * kPagesPerChunk);
  expect_sound();
  EXPECT_TRUE(own.spans.free_run(run));
  own.spans.trim(0);
  EXPECT_EQ(held(), 0u);
}

TEST_F(FootprintTest, AHugePageCountsAsAWhole) {
  if (!os_knows_huge_pages()) GTEST_SKIP() << "no huge pages here";
  limit_to(kPagesPerChunk + 4);
  Span* const first = own.spans.allocate({1}, {1}, Paging::kHuge);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(held(), size_t{kPagesPerChunk});
  std::vector<Span*> spans;
  while (Span* const span = own.spans.allocate({1}, {1}, Paging::kHuge)) spans.push_back(span);
  // The rest of it, and then small pages up to the limit; the records of all these take a part of the last.
  EXPECT_GE(spans.size(), kPagesPerChunk - 1u + 3u);
  EXPECT_LE(spans.size(), kPagesPerChunk - 1u + 4u);
  for (Span* const span : spans) own.free_touched(span);
  own.free_touched(first);
  own.spans.trim(0);
  EXPECT_EQ(held(), 0u);
}

TEST_F(FootprintTest, AChunkWithItsAddressesIsHeldNoLonger) {
  Span* const span = own.spans.allocate({kPagesPerChunk});
  own.free_touched(span);
  EXPECT_EQ(held(), size_t{kPagesPerChunk});
  own.spans.release_addresses();
  EXPECT_EQ(held(), 0u);
}

// A page of the store that holds records counts as the store's, once.
TEST_F(FootprintTest, APageOfRecordsCountsOnce) {
  Span* const span = own.spans.allocate({1});
  const SystemCallHook refuses(SYS_mmap, [] { return false; });
  while (own.arena.allocate(64) != nullptr) {
  }
  const size_t before = own.footprint.held();
  own.spans.stock_arena();
  ASSERT_EQ(own.footprint.held(), before + kPageSize);
  const size_t records = own.arena.bytes_used();
  while (own.arena.allocate(64) != nullptr) {
  }
  EXPECT_GT(own.arena.bytes_used(), records + kPageSize / 2) << "statistics tell of them";
  EXPECT_EQ(own.footprint.held(), before + kPageSize);
  own.spans.free(span, {0});
}

class FootprintOfMappingsTest : public MappingStoreTest {
 protected:
  size_t held() const { return footprint.held() - arena.bytes_used(); }
};

TEST_F(FootprintOfMappingsTest, ABlockIsHeldAsFarAsItWasHandedOut) {
  char* const block = allocate_dirty(10 * kMiB);
  EXPECT_EQ(held(), 10 * kMiB);
  footprint.set_limits(SIZE_MAX, footprint.held() + 4 * kMiB);
  EXPECT_EQ(large.resize(block, 15 * kMiB), nullptr);
  expect_sound();
  auto* const longer = static_cast<char*>(large.resize(block, 14 * kMiB));
  ASSERT_NE(longer, nullptr);
  EXPECT_EQ(held(), 14 * kMiB);
  EXPECT_EQ(allocate(4096), nullptr);
  EXPECT_EQ(large.resize(longer, 2 * kMiB), longer);
  EXPECT_EQ(held(), 14 * kMiB) << "the tail is kept";
  large.trim(0);
  EXPECT_EQ(held(), 2 * kMiB);
  free(longer);
  EXPECT_EQ(held(), 2 * kMiB);
  EXPECT_EQ(allocate(20 * kMiB), nullptr);
  EXPECT_EQ(kept(), 2 * kMiB) << "what did not do is kept on";
  large.trim(0);
  EXPECT_EQ(held(), 0u);
}

TEST(SoftLimitTest, IsAnsweredOnceForEachPart) {
  SoftLimit limit;
  limit.note(SIZE_MAX - 1);
  EXPECT_FALSE(limit.is_passed());
  limit.set(6400, 0);
  limit.note(6400);
  EXPECT_FALSE(limit.is_passed());
  limit.note(6401);
  EXPECT_TRUE(limit.claim());
  EXPECT_FALSE(limit.claim());
  limit.answered([] { return size_t{6500}; });
  limit.note(6600);
  EXPECT_FALSE(limit.is_passed());
  limit.note(6601);
  EXPECT_TRUE(limit.claim());
  limit.answered([] { return size_t{6000}; });  // below it: it may be passed anew
  limit.note(6401);
  EXPECT_TRUE(limit.is_passed());
}

TEST(SoftLimitTest, IsPassedAnewOnceLessWasHeld) {
  SoftLimit limit;
  limit.set(6400, 8000);
  EXPECT_TRUE(limit.claim());
  limit.note(9000);
  EXPECT_FALSE(limit.is_passed()) << "a thread is answering";
  limit.answered([] { return size_t{8000}; });
  limit.note_less(6401);
  limit.note(7000);
  EXPECT_FALSE(limit.is_passed());
  limit.note_less(6400);
  limit.note(6401);
  EXPECT_TRUE(limit.is_passed());
}

TEST(SoftLimitTest, AForkedChildAsksForTheAnswerOfAThreadThatIsNotThere) {
  SoftLimit limit;
  limit.set(6400, 7000);
  limit.after_fork();
  EXPECT_TRUE(limit.claim());
  limit.after_fork();
  EXPECT_TRUE(limit.is_passed());
  EXPECT_TRUE(limit.claim());
}

TEST(SoftLimitTest, AChangeAsksForNoAnswerThatWasGiven) {
  SoftLimit limit;
  limit.set(6400, 7000);
  EXPECT_TRUE(limit.claim());
  limit.answered([] { return size_t{7000}; });
  limit.set(6300, 7050);
  EXPECT_FALSE(limit.is_passed());
  limit.set(8000, 7050);
  limit.set(7000, 7050);
  EXPECT_TRUE(limit.is_passed());
}

}  // namespace
}  // namespace snug::unit
