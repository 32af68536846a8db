// The smallest programs that tell memory models apart: the outcomes that each model must show, and must not show.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "base/atomic.h"
#include "proof.h"
#include "scheduled_atomics.h"

namespace snug::schedule {
namespace {

// Registers r0, r1, ... that threads leave their findings in: outside the model, each with one writer.
struct Litmus {
  ScheduledAtomics::Atomic<int> x{0}, y{0};
  int r[4] = {-1, -1, -1, -1};
};

// All final values of the registers, each as "r0r1r2r3" without those that nobody wrote.
std::set<std::string> outcomes(MemoryModel memory, int preemptions, std::vector<Body<Litmus>> bodies) {
  std::set<std::string> seen;
  Options options;
  options.memory = memory;
  options.preemptions = preemptions;
  const Outcome outcome = explore<Litmus>(options, std::move(bodies), [&seen](Litmus& end) {
    std::string text;
    for (const int value : end.r) {
      if (value >= 0) text += std::to_string(value);
    }
    seen.insert(text);
  });
  EXPECT_TRUE(outcome.passed()) << outcome.report;
  return seen;
}

using Outcomes = std::set<std::string>;
constexpr int kBounds[] = {kUnbounded, 3};

// Each stores to one location and loads the other; `between` stands between.
template <class Store, class Between>
std::vector<Body<Litmus>> store_buffering(Store store, Between between) {
  return {[=](Litmus& s) { store(s.x), between(), s.r[0] = s.y.load(kRelaxed); },
          [=](Litmus& s) { store(s.y), between(), s.r[1] = s.x.load(kRelaxed); }};
}
void store_relaxed(ScheduledAtomics::Atomic<int>& atomic) { atomic.store(1, kRelaxed); }
void store_release(ScheduledAtomics::Atomic<int>& atomic) { atomic.store(1, kRelease); }
void exchange(ScheduledAtomics::Atomic<int>& atomic) { atomic.exchange(1, kRelaxed); }
void nothing() {}

TEST(StoreBuffering, IsSeenWithBuffersAndNotWithout) {
  const Outcomes weak = {"00", "01", "10", "11"}, strong = {"01", "10", "11"};
  for (const int bound : kBounds) {
    for (const auto store : {store_relaxed, store_release}) {
      EXPECT_EQ(outcomes(MemoryModel::kSequential, bound, store_buffering(store, nothing)), strong);
      EXPECT_EQ(outcomes(MemoryModel::kStoreBuffers, bound, store_buffering(store, nothing)), weak);
      EXPECT_EQ(outcomes(MemoryModel::kViews, bound, store_buffering(store, nothing)), weak);
    }
  }
}

TEST(StoreBuffering, TakesNoPreemptionToBeSeen) {
  EXPECT_EQ(outcomes(MemoryModel::kStoreBuffers, 0, store_buffering(store_relaxed, nothing)).count("00"), 1u);
}

TEST(StoreBuffering, IsForbiddenByFences) {
  const auto fence = [] { ScheduledAtomics::fence(kSeqCst); };
  for (const MemoryModel memory : kModels) {
    for (const int bound : kBounds) {
      EXPECT_EQ(outcomes(memory, bound, store_buffering(store_relaxed, fence)), (Outcomes{"01", "10", "11"}));
    }
  }
}

TEST(StoreBuffering, IsNotForbiddenByWeakerFences) {
  const auto fence = [] { ScheduledAtomics::fence(kAcqRel); };
  for (const MemoryModel memory : {MemoryModel::kStoreBuffers, MemoryModel::kViews}) {
    EXPECT_EQ(outcomes(memory, kUnbounded, store_buffering(store_relaxed, fence)).count("00"), 1u);
  }
}

// A fence on one side alone forbids nothing.
TEST(StoreBuffering, NeedsBothFences) {
  for (const MemoryModel memory : {MemoryModel::kStoreBuffers, MemoryModel::kViews}) {
    const Outcomes seen = outcomes(
        memory, kUnbounded,
        {[](Litmus& s) { s.x.store(1, kRelaxed), ScheduledAtomics::fence(kSeqCst), s.r[0] = s.y.load(kRelaxed); },
         [](Litmus& s) { s.y.store(1, kRelaxed), s.r[1] = s.x.load(kRelaxed); }});
    EXPECT_EQ(seen.count("00"), 1u);
  }
}

TEST(StoreBuffering, IsForbiddenByTheProcessorsUpdatesButNotByTheLanguages) {
  EXPECT_EQ(outcomes(MemoryModel::kStoreBuffers, kUnbounded, store_buffering(exchange, nothing)).count("00"), 0u);
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, store_buffering(exchange, nothing)).count("00"), 1u);
}

TEST(StoreBuffering, IsForbiddenBySeqCstAccesses) {
  for (const MemoryModel memory : kModels) {
    const Outcomes seen = outcomes(
        memory, kUnbounded,
        {[](Litmus& s) { s.x.store(1), s.r[0] = s.y.load(); }, [](Litmus& s) { s.y.store(1), s.r[1] = s.x.load(); }});
    EXPECT_EQ(seen, (Outcomes{"01", "10", "11"}));
  }
}

// Thread 0 has the light fence, thread 1 the membarrier.
std::vector<Body<Litmus>> asymmetric(void (*light)(), void (*heavy)()) {
  return {[=](Litmus& s) { s.x.store(1, kRelaxed), light(), s.r[0] = s.y.load(kRelaxed); },
          [=](Litmus& s) { s.y.store(1, kRelaxed), heavy(), s.r[1] = s.x.load(kRelaxed); }};
}
void light_fence() { ScheduledAtomics::light_fence(); }
void membarrier() { ScheduledAtomics::membarrier(); }
void seq_cst_fence() { ScheduledAtomics::fence(kSeqCst); }

TEST(StoreBuffering, IsForbiddenByLightFenceAndMembarrierTogether) {
  for (const int bound : kBounds) {
    for (const MemoryModel memory : kModels) {
      EXPECT_EQ(outcomes(memory, bound, asymmetric(light_fence, membarrier)), (Outcomes{"01", "10", "11"}));
    }
    for (const MemoryModel memory : {MemoryModel::kStoreBuffers, MemoryModel::kViews}) {
      EXPECT_EQ(outcomes(memory, bound, asymmetric(light_fence, seq_cst_fence)).count("00"), 1u);
      EXPECT_EQ(outcomes(memory, bound, asymmetric(light_fence, nothing)).count("00"), 1u);
      EXPECT_EQ(outcomes(memory, bound, asymmetric(nothing, membarrier)).count("00"), 1u);
    }
  }
}

TEST(StoreBuffering, ThreadsSeeTheirOwnStoresAtOnce) {
  for (const MemoryModel memory : kModels) {
    const Outcomes seen = outcomes(memory, kUnbounded, {[](Litmus& s) {
                                     s.x.store(1, kRelaxed);
                                     s.x.store(2, kRelaxed);
                                     s.r[0] = s.x.load(kRelaxed);
                                   }});
    EXPECT_EQ(seen, Outcomes{"2"});
  }
}

std::vector<Body<Litmus>> message_passing(MemoryOrder store, MemoryOrder load) {
  return {[=](Litmus& s) { s.x.store(1, kRelaxed), s.y.store(1, store); },
          [=](Litmus& s) { s.r[0] = s.y.load(load), s.r[1] = s.x.load(kRelaxed); }};
}

TEST(MessagePassing, IsOrderedByTheProcessorAlways) {
  for (const int bound : kBounds) {
    EXPECT_EQ(outcomes(MemoryModel::kStoreBuffers, bound, message_passing(kRelaxed, kRelaxed)),
              (Outcomes{"00", "01", "11"}));
  }
}

TEST(MessagePassing, IsOrderedByTheLanguageWithBothOrders) {
  for (const int bound : kBounds) {
    const auto seen = [bound](MemoryOrder store, MemoryOrder load) {
      return outcomes(MemoryModel::kViews, bound, message_passing(store, load));
    };
    EXPECT_EQ(seen(kRelease, kAcquire), (Outcomes{"00", "01", "11"}));
    EXPECT_EQ(seen(kRelaxed, kAcquire).count("10"), 1u);
    EXPECT_EQ(seen(kRelease, kRelaxed).count("10"), 1u);
  }
}

TEST(MessagePassing, IsOrderedByFences) {
  const auto bodies = [](MemoryOrder first, MemoryOrder second) -> std::vector<Body<Litmus>> {
    return {
        [=](Litmus& s) { s.x.store(1, kRelaxed), ScheduledAtomics::fence(first), s.y.store(1, kRelaxed); },
        [=](Litmus& s) { s.r[0] = s.y.load(kRelaxed), ScheduledAtomics::fence(second), s.r[1] = s.x.load(kRelaxed); }};
  };
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(kRelease, kAcquire)).count("10"), 0u);
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(kAcquire, kAcquire)).count("10"), 1u);
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(kRelease, kRelease)).count("10"), 1u);
}

// An update in between continues what the release began; a store breaks it.
TEST(MessagePassing, GoesThroughUpdatesOfOthers) {
  const auto bodies = [](bool by_update) -> std::vector<Body<Litmus>> {
    return {[](Litmus& s) { s.x.store(1, kRelaxed), s.y.store(1, kRelease); },
            [=](Litmus& s) {
              if (by_update) {
                s.y.fetch_add(1, kRelaxed);
              } else if (s.y.load(kRelaxed) == 1) {
                s.y.store(2, kRelaxed);
              }
            },
            [](Litmus& s) { s.r[0] = s.y.load(kAcquire), s.r[1] = s.x.load(kRelaxed); }};
  };
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(true)).count("20"), 0u);
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(false)).count("20"), 1u);
}

// Two readers of two independent stores: only weaker models let them disagree about the order.
TEST(IndependentReads, DisagreeOnlyWithoutSeqCst) {
  const auto bodies = [](MemoryOrder store, MemoryOrder load) -> std::vector<Body<Litmus>> {
    return {[=](Litmus& s) { s.x.store(1, store); }, [=](Litmus& s) { s.y.store(1, store); },
            [=](Litmus& s) { s.r[0] = s.x.load(load), s.r[1] = s.y.load(load); },
            [=](Litmus& s) { s.r[2] = s.y.load(load), s.r[3] = s.x.load(load); }};
  };
  EXPECT_EQ(outcomes(MemoryModel::kStoreBuffers, kUnbounded, bodies(kRelaxed, kRelaxed)).count("1010"), 0u);
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(kRelease, kAcquire)).count("1010"), 1u);
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(kSeqCst, kSeqCst)).count("1010"), 0u);
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(kSeqCst, kSeqCst)).size(), 15u);
}

// Two loads of one location never go back in its order.
TEST(Coherence, HoldsInEveryModel) {
  for (const MemoryModel memory : kModels) {
    const Outcomes seen = outcomes(memory, kUnbounded,
                                   {[](Litmus& s) { s.x.store(1, kRelaxed), s.x.store(2, kRelaxed); },
                                    [](Litmus& s) { s.r[0] = s.x.load(kRelaxed), s.r[1] = s.x.load(kRelaxed); }});
    EXPECT_EQ(seen, (Outcomes{"00", "01", "02", "11", "12", "22"}));
  }
}

// A compare_exchange that fails is a load, and may read an old value; one that expects the latest never fails.
TEST(Updates, CompareWithTheLatestUnlessTheyFail) {
  const auto bodies = [](int expected) -> std::vector<Body<Litmus>> {
    return {[](Litmus& s) { s.x.store(1, kRelaxed), s.y.store(1, kRelaxed); },
            [=](Litmus& s) {
              s.r[0] = s.y.load(kRelaxed);
              int found = expected;
              s.r[1] = s.x.compare_exchange_strong(found, 2, kRelaxed) ? 1 : 0;
              s.r[2] = found;
            }};
  };
  EXPECT_EQ(outcomes(MemoryModel::kStoreBuffers, kUnbounded, bodies(5)), (Outcomes{"000", "001", "101"}));
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(5)), (Outcomes{"000", "001", "100", "101"}));
  // A thread that has seen y and expects 1 reads an old 0 at worst.
  EXPECT_EQ(outcomes(MemoryModel::kStoreBuffers, kUnbounded, bodies(1)), (Outcomes{"000", "011", "111"}));
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(1)), (Outcomes{"000", "011", "100", "111"}));
  EXPECT_EQ(outcomes(MemoryModel::kViews, kUnbounded, bodies(0)), (Outcomes{"001", "010", "101"}));
}

TEST(Updates, NeverLoseOne) {
  for (const MemoryModel memory : kModels) {
    const Body<Litmus> add = [](Litmus& s) { s.x.fetch_add(1, kRelaxed), s.x.fetch_add(1, kRelaxed); };
    const auto sum = [](Litmus& s) { require(s.x.load() == 6, "the sum"); };
    Options options;
    options.memory = memory;
    const Outcome outcome = explore<Litmus>(options, {add, add, add}, sum);
    EXPECT_TRUE(outcome.passed()) << outcome.report;
  }
}

}  // namespace
}  // namespace snug::schedule
