// When huge pages are asked for, by what they cost.
#include "span/huge_page_gauge.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/units.h"
#include "os/memory.h"
#include "os/process.h"

namespace snug {
namespace {

constexpr uint64_t kCheap = 100'000;
constexpr uint64_t kSmallPages = 600'000;
constexpr uint64_t kDear = 4'500'000;

class HugePageGaugeTest : public testing::Test {
 protected:
  // Huge pages prove dear; they were compared `ago` milliseconds back.
  void find_dear(uint32_t ago) {
    gauge.note_huge(kDear);
    gauge.note_small(kSmallPages, os::milliseconds() - ago);
  }

  HugePageGauge gauge;
};

TEST_F(HugePageGaugeTest, CheapOnesAreRecommended) {
  EXPECT_TRUE(gauge.recommends());
  gauge.note_huge(kCheap);
  EXPECT_TRUE(gauge.recommends());
  EXPECT_FALSE(gauge.compares());
}

TEST_F(HugePageGaugeTest, ADearOneIsComparedFirst) {
  gauge.note_huge(kDear);
  EXPECT_TRUE(gauge.compares());
  EXPECT_FALSE(gauge.recommends());
}

TEST_F(HugePageGaugeTest, MuchCheaperSmallPagesMakeAPause) {
  find_dear(0);
  EXPECT_FALSE(gauge.compares());
  EXPECT_FALSE(gauge.recommends());
}

TEST_F(HugePageGaugeTest, WhereSmallPagesAreAsDearThereIsNoPause) {
  gauge.note_huge(kDear);
  gauge.note_small(kDear / 2 + 1, os::milliseconds());
  EXPECT_FALSE(gauge.compares());
  EXPECT_TRUE(gauge.recommends());
}

TEST_F(HugePageGaugeTest, APauseEndsAndIsTwiceAsLongNextTime) {
  find_dear(HugePageGauge::kShortestPause);
  EXPECT_TRUE(gauge.recommends());
  find_dear(HugePageGauge::kShortestPause);
  EXPECT_FALSE(gauge.recommends());
  find_dear(4 * HugePageGauge::kShortestPause);
  EXPECT_TRUE(gauge.recommends());
}

TEST_F(HugePageGaugeTest, PausesAreBounded) {
  for (int i = 0; i < 40; ++i) find_dear(0);
  EXPECT_FALSE(gauge.recommends());
  find_dear(HugePageGauge::kLongestPause);
  EXPECT_TRUE(gauge.recommends());
}

TEST_F(HugePageGaugeTest, ACheapOneEndsAllPauses) {
  for (int i = 0; i < 10; ++i) find_dear(0);
  gauge.note_huge(kCheap);
  EXPECT_TRUE(gauge.recommends());
  find_dear(HugePageGauge::kShortestPause);
  EXPECT_TRUE(gauge.recommends()) << "the next pause is a short one again";
}

TEST_F(HugePageGaugeTest, OnlyOneThreadCompares) {
  find_dear(0);
  gauge.note_small(1, os::milliseconds() - HugePageGauge::kLongestPause);
  EXPECT_FALSE(gauge.recommends()) << "the second comparison is of nothing";
}

TEST_F(HugePageGaugeTest, TouchesEveryPageAndKeepsWhatTheyHold) {
  constexpr size_t kBytes = size_t{64} << 10;
  char* memory = static_cast<char*>(os::map(kBytes, os::page_size()));
  ASSERT_NE(memory, nullptr);
  memory[0] = 7;
  memory[kBytes - os::page_size()] = 9;
  gauge.touch_small(memory, kBytes);
  gauge.touch_huge(memory);
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(memory[kBytes - os::page_size()], 9);
  EXPECT_EQ(os::resident_pages(memory, kBytes), kBytes / os::page_size());
  os::release(memory, kBytes);
}

}  // namespace
}  // namespace snug
