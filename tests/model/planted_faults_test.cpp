// A test that cannot fail is a defect: each kind of fault the runner claims to find is planted here and must be found,
// and the program that shows it must shrink to a short one.
#include "planted_faults.h"

#include <gtest/gtest.h>

#include "isolated_run.h"
#include "program_generator.h"
#include "program_shrinker.h"

namespace snug::model {
namespace {

constexpr RunOptions kEveryStep{1, 64};

class PlantedFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(PlantedFaults, AreFound) {
  const PlantedFault& fault = GetParam();
  const Program program = generate({SizeMix::kEdges, Rhythm::kSteady}, 7, 8000);
  const Complaint complaint = run_isolated(fault.heap, program, RunOptions{16, 64});
  if (*fault.expected == '\0') {
    EXPECT_EQ(complaint, std::nullopt) << *complaint;
  } else {
    ASSERT_TRUE(complaint) << "the planted fault was not found";
    EXPECT_NE(complaint->find(fault.expected), std::string::npos) << *complaint;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFaults, testing::ValuesIn(planted_faults()),
                         [](const auto& info) { return std::string(info.param.name); });

// Fails on any request of 4 KiB or more once three blocks are alive: the shortest failing program has four steps.
TEST(ProgramShrinker, FindsTheShortProgramInsideALongOne) {
  unsigned runs = 0;
  const Fails fails = [&](const Program& program) {
    ++runs;
    size_t live = 0;
    for (const Operation& operation : program) {
      if (is_allocation(operation.kind)) {
        if (live >= 3 && operation.size >= 4096) return true;
        ++live;
      } else if (operation.kind == OperationKind::kFree || operation.kind == OperationKind::kFreeSized) {
        live -= live > 0 ? 1 : 0;
      }
    }
    return false;
  };
  const Program program = generate({SizeMix::kLogUniform, Rhythm::kSteady}, 1, 20000);
  ASSERT_TRUE(fails(program));
  const Program small = shrink(program, fails, 400);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(small.size(), 4u) << describe(small);
  EXPECT_LE(runs, 402u);
}

TEST(ProgramShrinker, ShrinksARealFault) {
  for (const PlantedFault& fault : planted_faults()) {
    if (std::string(fault.name) != "NullMalloc") continue;
    const Fails fails = [&](const Program& program) {
      return run_isolated(fault.heap, program, kEveryStep).has_value();
    };
    const Program program = generate({SizeMix::kTiny, Rhythm::kSteady}, 3, 2000);
    ASSERT_TRUE(fails(program));
    const Program small = shrink(program, fails, 1500);
    EXPECT_TRUE(fails(small));
    // The fault needs exactly 200 calls of malloc, so nothing but those can be left.
    EXPECT_EQ(small.size(), 200u) << describe(small);
  }
}

}  // namespace
}  // namespace snug::model
