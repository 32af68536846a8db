#include "compact/spare_budget.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

constexpr size_t kMost = 100 * kPageSize;
constexpr size_t kLeast = SpareBudget::kLeast;

TEST(SpareBudgetTest, GrowsByWhatIsMissed) {
  SpareBudget budget;
  EXPECT_EQ(budget.allowed(kMost), kLeast);
  for (int i = 0; i < 20; ++i) budget.gave(kPageSize, kMost);
  for (int i = 0; i < 20; ++i) budget.took(kPageSize, kMost);
  EXPECT_EQ(budget.allowed(kMost), 20 * kPageSize);
  for (int i = 0; i < 20; ++i) budget.took(kPageSize, kMost);
  EXPECT_EQ(budget.allowed(kMost), 20 * kPageSize) << "no more had gone";
}

TEST(SpareBudgetTest, DoesNotTakeOneLengthForAnother) {
  SpareBudget budget;
  for (int i = 0; i < 50; ++i) {
    budget.gave(kPageSize, kMost);
    budget.took(2 * kPageSize, kMost);
  }
  EXPECT_EQ(budget.allowed(kMost), kLeast);
}

TEST(SpareBudgetTest, ForgetsWhatIsNoLongerWanted) {
  SpareBudget budget;
  budget.gave(kMostPages * kPageSize, kMost);
  for (int i = 0; i < 50; ++i) {
    budget.gave(kPageSize, kMost);
    budget.took(kPageSize, kMost);
  }
  const size_t allowed = budget.allowed(kMost);
  EXPECT_GT(allowed, 30 * kPageSize);
  for (int i = 0; i < 40; ++i) budget.gave(kPageSize, kMost);
  EXPECT_EQ(budget.allowed(kMost), allowed - 10 * kPageSize);
  for (int i = 0; i < 1000; ++i) budget.gave(kPageSize, kMost);
  EXPECT_EQ(budget.allowed(kMost), kLeast);
}

TEST(SpareBudgetTest, KeepsToTheMost) {
  SpareBudget budget;
  for (int i = 0; i < 1000; ++i) {
    budget.gave(kPageSize, kMost);
    budget.took(kPageSize, kMost);
  }
  EXPECT_EQ(budget.allowed(kMost), kMost);
  EXPECT_EQ(budget.allowed(kMost / 2), kMost / 2);
  EXPECT_EQ(budget.allowed(0), kLeast);
}

}  // namespace
}  // namespace snug
