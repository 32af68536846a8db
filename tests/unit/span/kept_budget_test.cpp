// What is kept beyond a little was missed.
#include "span/kept_budget.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "span/own_spans.h"

namespace snug {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(KeptBudgetTest, WhatWentForBeingTooMuchAndIsTakenAgainIsMissed) {
  KeptBudget budget;
  const size_t least = budget.allowed();
  budget.took(8 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least) << "nothing had gone back";
  budget.gave(8 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least);
  budget.took(3 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 3 * kMiB);
  budget.took(20 * kMiB, 64 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 8 * kMiB) << "no more than went";
}

TEST(KeptBudgetTest, NoMoreThanTheMostIsEverMissed) {
  KeptBudget budget;
  budget.gave(100 * kMiB, 16 * kMiB);
  budget.took(100 * kMiB, 16 * kMiB);
  EXPECT_EQ(budget.allowed(), 16 * kMiB);
  budget.gave(10 * kMiB, 4 * kMiB);
  budget.took(10 * kMiB, 4 * kMiB);
  EXPECT_EQ(budget.allowed(), 16 * kMiB) << "a smaller bound takes nothing back";
}

TEST(KeptBudgetTest, WhatWentForItsAgeWasNotMissed) {
  KeptBudget budget;
  const size_t least = budget.allowed();
  budget.gave(8 * kMiB, 64 * kMiB);
  budget.took(8 * kMiB, 64 * kMiB);
  budget.aged(3 * kMiB);
  EXPECT_EQ(budget.allowed(), least + 5 * kMiB);
  budget.aged(100 * kMiB);
  EXPECT_EQ(budget.allowed(), least);
}

class KeptSpansTest : public testing::Test {
 protected:
  KeptSpansTest() {
    own_.spans.set_retention({64 * kMiB, UINT32_MAX});
    own_.spans.allow(KeptBudget::kLeast);
  }
  std::vector<Span*> take(size_t bytes) {
    std::vector<Span*> spans;
    for (size_t taken = 0; taken < bytes; taken += PageCount{8}.bytes()) spans.push_back(own_.spans.allocate({8}));
    return spans;
  }
  void free(const std::vector<Span*>& spans) {
    for (Span* span : spans) own_.free_touched(span);
  }
  size_t kept_after_burst() {
    free(take(24 * kMiB));
    return own_.spans.statistics().bytes_dirty;
  }

  unit::OwnSpans own_;
};

// A burst that comes again is kept from its second time on.
TEST_F(KeptSpansTest, WhatComesAndGoesIsKeptOnceItWasMissed) {
  EXPECT_LE(kept_after_burst(), 2 * kMiB);
  EXPECT_GE(kept_after_burst(), 20 * kMiB);
  EXPECT_GE(kept_after_burst(), 20 * kMiB);
}

// While a thread frees for longer than memory is kept, old memory goes at each free. What it frees then is still kept.
TEST_F(KeptSpansTest, WhatGrowsOldAmongFreesLowersNothing) {
  kept_after_burst();
  kept_after_burst();
  const std::vector<Span*> old = take(24 * kMiB);
  const std::vector<Span*> next = take(4 * kMiB);
  const std::vector<Span*> last = take(20 * kMiB);
  free(old);
  own_.spans.set_retention({64 * kMiB, 1});
  usleep(10'000);
  free(next);
  own_.spans.set_retention({64 * kMiB, UINT32_MAX});
  free(last);
  EXPECT_GE(own_.spans.statistics().bytes_dirty, 18 * kMiB);
}

// When nobody frees, what goes for its age has not been wanted.
TEST_F(KeptSpansTest, WhatGrowsOldUntouchedLowersWhatIsKept) {
  kept_after_burst();
  kept_after_burst();
  own_.spans.set_retention({64 * kMiB, 1});
  usleep(10'000);
  while (own_.spans.purge_overdue() == Purge::kDone) {
  }
  own_.spans.set_retention({64 * kMiB, UINT32_MAX});
  EXPECT_LE(kept_after_burst(), 2 * kMiB);
}

// However much is missed.
TEST(KeptBudgetTest, NoMoreThanIsInUseIsKept) {
  unit::OwnSpans own;
  own.spans.bound_retention(4 * kMiB, 16 * kMiB);
  own.spans.allow(SIZE_MAX);
  const auto allocate = [&own](size_t bytes) {
    std::vector<Span*> spans;
    for (size_t i = 0; i < bytes / PageCount{8}.bytes(); ++i) spans.push_back(own.spans.allocate({8}));
    return spans;
  };
  const auto free = [&own](const std::vector<Span*>& spans) {
    for (Span* span : spans) own.free_touched(span);
    return own.spans.statistics().bytes_dirty;
  };
  const std::vector<Span*> some = allocate(8 * kMiB);
  EXPECT_EQ(free(allocate(32 * kMiB)), 8 * kMiB);
  const std::vector<Span*> more = allocate(32 * kMiB);
  EXPECT_EQ(free(allocate(32 * kMiB)), 16 * kMiB) << "nor than the bound for that";
  free(more);
  EXPECT_EQ(free(some), 4 * kMiB);
  EXPECT_STREQ(own.spans.check(), nullptr);
}

}  // namespace
}  // namespace snug
