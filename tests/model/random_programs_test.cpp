// Random programs on snug against the reference.
//
// Short ones are drawn and shrunk by RapidCheck, with every structure checked after every operation (RC_PARAMS in the
// environment repeats a failure). Long ones come from our own generator, a pure function of the seed that a
// failure prints, with every structure checked every few hundred operations.
#include <cstdlib>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "effort.h"
#include "isolated_run.h"
#include "program_generator.h"
#include "program_shrinker.h"

namespace rc {

template <>
struct Arbitrary<snug::model::Operation> {
  static Gen<snug::model::Operation> arbitrary() {
    using snug::model::Choice;
    using snug::model::Operation;
    using snug::model::OperationKind;
    // Raw size classes rather than one uniform range: each mix shrinks towards its own smallest size.
    const auto size = gen::weightedOneOf<size_t>({
        {4, gen::inRange<size_t>(0, 130)},
        {4, gen::inRange<size_t>(0, 4200)},
        {3, gen::map(gen::inRange<uint64_t>(0, uint64_t{1} << 20),
                     [](uint64_t random) { return size_from(snug::model::SizeMix::kEdges, random); })},
        {2, gen::inRange<size_t>(0, size_t{1} << 20)},
        {1, gen::inRange<size_t>(0, size_t{64} << 20)},
    });
    return gen::build<Operation>(
        gen::set(&Operation::kind, gen::weightedElement<OperationKind>({{8, OperationKind::kMalloc},
                                                                        {3, OperationKind::kCalloc},
                                                                        {3, OperationKind::kAlignedAlloc},
                                                                        {5, OperationKind::kRealloc},
                                                                        {6, OperationKind::kFree},
                                                                        {3, OperationKind::kFreeSized},
                                                                        {1, OperationKind::kUsableSize},
                                                                        {1, OperationKind::kTrim}})),
        gen::set(&Operation::choice, gen::element(Choice::kPick, Choice::kNewest, Choice::kOldest)),
        gen::set(&Operation::pick, gen::inRange<uint32_t>(0, 1000)), gen::set(&Operation::size, size),
        gen::set(&Operation::alignment,
                 gen::map(gen::inRange<unsigned>(4, 22), [](unsigned shift) { return size_t{1} << shift; })));
  }
};

}  // namespace rc

namespace snug::model {
namespace {

void expect_agreement(const Program& program, RunOptions options) {
  const Complaint complaint = run_isolated(snug_under_test(), program, options);
  if (complaint) RC_FAIL(*complaint + "\n" + describe(program));
}

RC_GTEST_PROP(RandomPrograms, ShortOnesAgreeAfterEveryStep, ()) {
  const auto program = *rc::gen::scale(3.0, rc::gen::arbitrary<Program>());
  expect_agreement(program, RunOptions{1, 16});
}

// Without realloc the number of allocations is exact, not an interval.
RC_GTEST_PROP(RandomPrograms, AllocationsAreCountedExactly, ()) {
  const auto program = *rc::gen::scale(3.0, rc::gen::container<Program>(rc::gen::suchThat(
                                                rc::gen::arbitrary<Operation>(), [](const Operation& operation) {
                                                  return operation.kind != OperationKind::kRealloc;
                                                })));
  expect_agreement(program, RunOptions{1, 16});
}

struct LongRun {
  Shape shape;
  size_t length;
  uint32_t check_every;
};

class LongPrograms : public testing::TestWithParam<LongRun> {};

TEST_P(LongPrograms, Agree) {
  const LongRun& run = GetParam();
  const size_t length = run.length / kEffortDivisor;
  const RunOptions options{run.check_every, run.check_every * 4};
  // One chosen seed, or the first few.
  const char* const chosen = std::getenv("SNUG_MODEL_SEED");
  const uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 0) : 1;
  const uint64_t last = chosen != nullptr ? first : kLongSeeds;
  for (uint64_t seed = first; seed <= last; ++seed) {
    const Program program = generate(run.shape, seed, length);
    const Complaint complaint = run_isolated(snug_under_test(), program, options);
    if (!complaint) continue;
    const Fails fails = [&](const Program& candidate) {
      return run_isolated(snug_under_test(), candidate, options).has_value();
    };
    const Program small = shrink(program, fails, 500);
    const Complaint of_small = run_isolated(snug_under_test(), small, options);
    FAIL() << "seed " << seed << ": " << *complaint << "\nrepeat: SNUG_MODEL_SEED=" << seed << " with "
           << testing::UnitTest::GetInstance()->current_test_info()->name() << "\nsmallest found, " << small.size()
           << " operations (" << of_small.value_or("no longer fails: the fault is not deterministic") << "):\n"
           << describe(small);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LongPrograms,
                         testing::Values(LongRun{{SizeMix::kTiny, Rhythm::kSteady}, 100000, 500},
                                         LongRun{{SizeMix::kLogUniform, Rhythm::kSteady}, 30000, 200},
                                         LongRun{{SizeMix::kEdges, Rhythm::kSteady}, 60000, 200},
                                         LongRun{{SizeMix::kLarge, Rhythm::kSteady}, 4000, 20},
                                         LongRun{{SizeMix::kTiny, Rhythm::kBursts}, 100000, 500},
                                         LongRun{{SizeMix::kLogUniform, Rhythm::kBursts}, 20000, 200},
                                         LongRun{{SizeMix::kEdges, Rhythm::kBursts}, 60000, 200},
                                         LongRun{{SizeMix::kTiny, Rhythm::kPhases}, 60000, 500},
                                         LongRun{{SizeMix::kLarge, Rhythm::kPhases}, 20000, 200}),
                         [](const auto& info) {
                           return std::string(name_of(info.param.shape.sizes)) + name_of(info.param.shape.rhythm);
                         });

}  // namespace
}  // namespace snug::model
