// What went back for its age and was wanted again soon.
#include "span/given_lately.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "os/process.h"
#include "span/own_spans.h"

namespace snug::unit {
namespace {

TEST(GivenLatelyTest, WhatIsTakenWithinASecondWasWantedAgain) {
  GivenLately given;
  EXPECT_TRUE(given.is_empty());
  given.gave(10, 5000);
  EXPECT_FALSE(given.is_empty());
  EXPECT_EQ(given.took(4, 5500), 4u);
  EXPECT_EQ(given.took(100, 6000), 6u) << "no more than went";
  EXPECT_TRUE(given.is_empty());
}

TEST(GivenLatelyTest, WhatIsTakenLaterWasNot) {
  GivenLately given;
  given.gave(8, 7000);
  EXPECT_EQ(given.took(8, 8001), 0u);
  given.gave(8, UINT32_MAX);
  EXPECT_EQ(given.took(8, 500), 8u) << "the clock begins anew";
}

TEST(GivenLatelyTest, AStreamCountsAsOfItsEnd) {
  GivenLately given;
  given.gave(1, 100);
  given.gave(1, 1000);
  EXPECT_EQ(given.took(5, 1900), 2u);
}

TEST(GivenLatelyTest, TheSpanStoreCountsWhatGoesForItsAge) {
  OwnSpans own;
  set_retention(own.stores.bounds(), {SIZE_MAX, 0});
  Span* span = own.spans.allocate({9});
  // What a busy machine held up for a second says nothing: again then.
  size_t refaulted_before = 0;
  for (uint32_t began = 0, took = UINT32_MAX; took > GivenLately::kSoon; took = os::milliseconds() - began) {
    std::memset(own.start_of(span), 1, PageCount{9}.bytes());
    own.spans.free(span, {9});
    usleep(5000);
    began = os::milliseconds();
    ASSERT_EQ(own.spans.purge_overdue(), Purge::kDone);
    refaulted_before = own.spans.statistics().bytes_refaulted;
    span = own.spans.allocate({9});
  }
  EXPECT_EQ(own.spans.statistics().bytes_refaulted, refaulted_before + PageCount{9}.bytes());
  own.spans.free(span, {0});
}

}  // namespace
}  // namespace snug::unit
