#include "compact/compact_budget.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

TEST(CompactBudgetTest, IsUsedUpBeforeAPartThatWouldGoBeyondIt) {
  CompactBudget budget(100, 0, 1000);
  EXPECT_FALSE(budget.is_used_up_at(1000));
  EXPECT_FALSE(budget.is_used_up_at(1030)) << "two more like it";
  EXPECT_FALSE(budget.is_used_up_at(1040));
  EXPECT_FALSE(budget.is_used_up_at(1069));
  EXPECT_TRUE(budget.is_used_up_at(1070)) << "one as the longest ends with the time";
}

TEST(CompactBudgetTest, TellsTimeThatIsUsedUpFromBytes) {
  CompactBudget budget(100, 10, 1000);
  budget.spend(10);
  EXPECT_TRUE(budget.is_used_up());
  EXPECT_FALSE(budget.is_out_of_time());
  EXPECT_FALSE(budget.is_used_up_at(1010));
  EXPECT_FALSE(budget.is_out_of_time());
  EXPECT_TRUE(budget.is_used_up_at(1095));
  EXPECT_TRUE(budget.is_out_of_time());
}

TEST(CompactBudgetTest, ALatecomerIsUsedUp) {
  CompactBudget budget(100, 0, 1000);
  EXPECT_TRUE(budget.is_used_up_at(1100));
  EXPECT_TRUE(budget.is_used_up_at(5000));
}

TEST(CompactBudgetTest, AnyLimitIsOne) {
  EXPECT_FALSE(CompactBudget().is_limited());
  EXPECT_FALSE(CompactBudget(0, 0).is_limited());
  EXPECT_FALSE(CompactBudget(UINT64_MAX, 0, 1000).is_limited()) << "no clock will show its end";
  EXPECT_TRUE(CompactBudget(1, 0).is_limited());
  CompactBudget bytes(0, 10);
  EXPECT_TRUE(bytes.is_limited());
  EXPECT_FALSE(bytes.is_used_up());
  bytes.spend(10);
  EXPECT_TRUE(bytes.is_used_up());
}

}  // namespace
}  // namespace snug
