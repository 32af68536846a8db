// Random programs on heaps of one's own against the reference (heap_runner.h).
//
// RapidCheck draws and shrinks them (RC_PARAMS in the environment repeats a failure). Each runs in a process of its
// own: a heap that has failed once is ruined.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "heap_runner.h"
#include "isolated_run.h"

namespace rc {

template <>
struct Arbitrary<snug::model::HeapOperation> {
  static Gen<snug::model::HeapOperation> arbitrary() {
    using snug::model::HeapOperation;
    using snug::model::HeapStep;
    const auto size = gen::weightedOneOf<size_t>({
        {6, gen::inRange<size_t>(0, 130)},
        {5, gen::inRange<size_t>(0, 4200)},
        {3, gen::inRange<size_t>(0, size_t{64} << 10)},
        {2, gen::inRange<size_t>(size_t{200} << 10, size_t{300} << 10)},  // about the largest class
        {1, gen::inRange<size_t>(0, size_t{48} << 20)},
    });
    return gen::build<HeapOperation>(gen::set(&HeapOperation::step, gen::weightedElement<HeapStep>({
                                                                        {2, HeapStep::kCreate},
                                                                        {1, HeapStep::kDestroy},
                                                                        {8, HeapStep::kMalloc},
                                                                        {3, HeapStep::kCalloc},
                                                                        {2, HeapStep::kAlignedAlloc},
                                                                        {4, HeapStep::kRealloc},
                                                                        {4, HeapStep::kHeapRealloc},
                                                                        {2, HeapStep::kPlainMalloc},
                                                                        {6, HeapStep::kFree},
                                                                        {3, HeapStep::kBatch},
                                                                        {2, HeapStep::kFreeSome},
                                                                        {1, HeapStep::kTrim},
                                                                        {1, HeapStep::kVisit},
                                                                    })),
                                     gen::set(&HeapOperation::heap, gen::inRange(0u, snug::model::kHeaps)),
                                     gen::set(&HeapOperation::pick, gen::inRange<uint32_t>(0, 1000)),
                                     gen::set(&HeapOperation::size, size), gen::set(&HeapOperation::limit, limits()),
                                     gen::set(&HeapOperation::shift, gen::inRange(4u, 22u)),
                                     gen::set(&HeapOperation::count, gen::inRange(0u, 200u)),
                                     gen::set(&HeapOperation::must_be_empty, gen::arbitrary<bool>()),
                                     gen::set(&HeapOperation::in_region, gen::arbitrary<bool>()));
  }

 private:
  // None, some that a few blocks exceed, and some that only many do.
  static Gen<size_t> limits() {
    return gen::weightedOneOf<size_t>({
        {3, gen::just<size_t>(0)},
        {1, gen::inRange<size_t>(1, size_t{128} << 10)},
        {2, gen::inRange<size_t>(size_t{256} << 10, size_t{8} << 20)},
    });
  }
};

}  // namespace rc

namespace snug::model {
namespace {

constexpr unsigned kSecondsPerProgram = 1200;

void expect_agreement(const HeapProgram& program) {
  const Complaint complaint = run_in_child([&] { return run_on_heaps(program); }, kSecondsPerProgram);
  if (complaint) RC_FAIL(*complaint + "\n" + describe(program));
}

RC_GTEST_PROP(HeapPrograms, AgreeAfterEveryStep, ()) {
  expect_agreement(*rc::gen::scale(3.0, rc::gen::arbitrary<HeapProgram>()));
}

// Heaps that come and go among few blocks.
RC_GTEST_PROP(HeapPrograms, OfManyShortLivesAgree, ()) {
  expect_agreement(*rc::gen::scale(
      2.0,
      rc::gen::container<HeapProgram>(rc::gen::map(rc::gen::arbitrary<HeapOperation>(), [](HeapOperation operation) {
        if (operation.pick % 3 == 0) operation.step = operation.pick % 2 == 0 ? HeapStep::kCreate : HeapStep::kDestroy;
        return operation;
      }))));
}

// Regions that are always nearly full.
RC_GTEST_PROP(HeapPrograms, InRegionsAgree, ()) {
  expect_agreement(*rc::gen::scale(3.0, rc::gen::container<HeapProgram>(rc::gen::map(
                                            rc::gen::arbitrary<HeapOperation>(), [](HeapOperation operation) {
                                              operation.in_region = true;
                                              operation.limit = 0;
                                              operation.size %= size_t{2} << 20;
                                              if (operation.step == HeapStep::kDestroy)
                                                operation.step = HeapStep::kRealloc;
                                              return operation;
                                            }))));
}

// One that can be read: a limit, a refusal, a block that moves to another heap, a visit.
TEST(HeapPrograms, OfSixStepsAgrees) {
  HeapOperation create;
  create.step = HeapStep::kCreate;
  create.limit = size_t{1} << 20;
  HeapOperation fill;
  fill.size = 1000;
  HeapOperation large;
  large.size = size_t{2} << 20;  // refused
  HeapOperation move;
  move.step = HeapStep::kHeapRealloc;
  move.heap = 1;
  move.size = 5000;
  HeapOperation visit;
  visit.step = HeapStep::kVisit;
  const HeapProgram program{create, fill, large, fill, move, visit};
  EXPECT_EQ(run_in_child([&] { return run_on_heaps(program); }, kSecondsPerProgram), std::nullopt) << describe(program);
}

}  // namespace
}  // namespace snug::model
