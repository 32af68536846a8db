// Random programs on every combination of policies, made and shrunk by RapidCheck.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "cell/cell_program.h"

namespace rc {
template <>
struct Arbitrary<snug::unit::CellStep> {
  static Gen<snug::unit::CellStep> arbitrary() {
    using snug::unit::CellStep;
    // Of their whole ranges, not of RapidCheck's size, or alignments and lengths would stay small.
    return gen::build<CellStep>(gen::set(&CellStep::kind, gen::inRange<uint8_t>(0, 8)),
                                gen::set(&CellStep::which, gen::inRange<uint8_t>(0, 255)),
                                gen::set(&CellStep::amount, gen::inRange<uint16_t>(0, 65535)));
  }
};
inline void showValue(const snug::unit::CellStep& step, std::ostream& out) {
  out << "{" << int{step.kind} << ", " << int{step.which} << ", " << step.amount << "}";
}
}  // namespace rc

namespace snug::unit {

// Found by RapidCheck through the argument's namespace.
void showValue(const CellStep& step, std::ostream& out) { rc::showValue(step, out); }

namespace {

template <class Policy>
class CellPrograms : public testing::Test {
 protected:
  // Every run is the same, unless RC_PARAMS of the environment says more.
  static void SetUpTestSuite() { setenv("RC_PARAMS", "seed=1 max_success=200 max_size=300", 0); }
};

using Policies = testing::Types<CellPolicy, TwoLevelEverywhere, DoublingCells, DoublingEverywhere, ScanCells,
                                ScanEverywhere, NarrowCells, NarrowEverywhere, TrailerlessCells, TrailerlessScan,
                                WalkedCells, KeptPages, ThresholdPages, ThresholdEverywhere, ThresholdScan>;
TYPED_TEST_SUITE(CellPrograms, Policies);

TYPED_TEST(CellPrograms, AgreeWithTheReference) {
  EXPECT_TRUE(rc::check("every program agrees with the reference", [](const std::vector<CellStep>& steps) {
    const std::string wrong = CellProgram<TypeParam>().run(steps);
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
}

}  // namespace
}  // namespace snug::unit
