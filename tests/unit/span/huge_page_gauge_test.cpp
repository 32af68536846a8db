// When huge pages are asked for, by what they cost.
#include "span/huge_page_gauge.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace snug {
namespace {

constexpr uint64_t kCheap = 100'000;
constexpr uint64_t kSmallPages = 600'000;
constexpr uint64_t kDear = 4'500'000;
constexpr uint32_t kShortest = HugePageGauge::kShortestPause;
constexpr uint32_t kLongest = HugePageGauge::kLongestPause;

class HugePageGaugeTest : public testing::Test {
 protected:
  // Two that took long, one behind the other.
  void note_dear() {
    gauge.note_huge(kDear);
    gauge.note_huge(kDear);
  }
  // Huge pages prove dear.
  void find_dear() {
    note_dear();
    gauge.note_small(kSmallPages, kChunkSize, now);
  }
  bool recommends() { return gauge.recommends(now); }
  // What has just begun lasts so long, to the millisecond.
  void expect_pause_of(uint32_t milliseconds) {
    now += milliseconds - 1;
    EXPECT_FALSE(recommends());
    now += 1;
    EXPECT_TRUE(recommends());
  }

  HugePageGauge gauge;
  uint32_t now = UINT32_MAX - 100;  // the clock wraps
};

TEST_F(HugePageGaugeTest, CheapOnesAreRecommended) {
  EXPECT_TRUE(recommends());
  gauge.note_huge(kCheap);
  EXPECT_TRUE(recommends());
  EXPECT_FALSE(gauge.compares());
}

TEST_F(HugePageGaugeTest, OneThatTookLongIsComparedFirst) {
  note_dear();
  EXPECT_TRUE(gauge.compares());
  EXPECT_FALSE(recommends());
  EXPECT_FALSE(gauge.pauses(now));
}

TEST_F(HugePageGaugeTest, MuchCheaperSmallPagesMakeAPause) {
  find_dear();
  EXPECT_FALSE(gauge.compares());
  EXPECT_FALSE(recommends());
  EXPECT_TRUE(gauge.pauses(now));
}

TEST_F(HugePageGaugeTest, APartIsComparedByteForByte) {
  note_dear();
  gauge.note_small(kDear / 32, kChunkSize / 32, now);
  EXPECT_TRUE(recommends());
  note_dear();
  gauge.note_small(kDear / 32 / 3, kChunkSize / 32, now);
  EXPECT_FALSE(recommends());
}

TEST_F(HugePageGaugeTest, WhereSmallPagesAreAsDearThereIsNoPause) {
  note_dear();
  gauge.note_small(kDear / 2 + 1, kChunkSize, now);
  EXPECT_FALSE(gauge.compares());
  EXPECT_TRUE(recommends());
}

TEST_F(HugePageGaugeTest, APauseEndsAndIsTwiceAsLongNextTime) {
  for (uint32_t pause : {kShortest, 2 * kShortest, 4 * kShortest}) {
    find_dear();
    expect_pause_of(pause);
  }
}

TEST_F(HugePageGaugeTest, PausesAreBounded) {
  for (int i = 0; i < 40; ++i, now += kLongest) find_dear();
  find_dear();
  expect_pause_of(kLongest);
}

TEST_F(HugePageGaugeTest, OneThatWasBeingTouchedDoesNotMakeThePauseLonger) {
  for (int i = 0; i < 4; ++i) find_dear();
  now += kShortest;
  EXPECT_TRUE(recommends());
}

TEST_F(HugePageGaugeTest, ACheapOneEndsAllPauses) {
  for (int i = 0; i < 10; ++i, now += kLongest) find_dear();
  gauge.note_huge(kCheap);
  EXPECT_TRUE(recommends());
  find_dear();
  now += kShortest;
  EXPECT_TRUE(recommends()) << "the next pause is a short one again";
}

TEST_F(HugePageGaugeTest, ACheapOneEndsAComparison) {
  note_dear();
  gauge.note_huge(kCheap);
  EXPECT_TRUE(recommends());
}

TEST_F(HugePageGaugeTest, ASmallPageInItsPlaceSaysNothing) {
  find_dear();
  gauge.note_huge(HugePageGauge::kNoHugePage - 1);
  EXPECT_FALSE(recommends());
}

TEST_F(HugePageGaugeTest, OneThatTookLongAloneSaysNothing) {
  gauge.note_huge(kDear);
  EXPECT_FALSE(gauge.compares());
  EXPECT_TRUE(recommends());
  gauge.note_huge(kCheap);
  gauge.note_huge(kDear);
  EXPECT_FALSE(gauge.compares()) << "its thread may have waited for a processor";
  gauge.note_huge(kDear);
  EXPECT_TRUE(gauge.compares());
}

TEST_F(HugePageGaugeTest, AComparisonThatCannotBeMadeIsOver) {
  note_dear();
  gauge.note_small(0, kChunkSize, now);
  EXPECT_TRUE(recommends());
}

TEST_F(HugePageGaugeTest, AComparisonIsMadeOnce) {
  find_dear();
  gauge.note_small(kDear, kChunkSize, now);
  EXPECT_FALSE(recommends()) << "the second comparison is of nothing";
}

}  // namespace
}  // namespace snug
