// What explore() finds, counts, repeats and says.
#include "proof.h"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic.h"
#include "scheduled_atomics.h"

namespace snug::schedule {
namespace {

using Atomic = ScheduledAtomics::Atomic<int>;
using Var = ScheduledAtomics::Var<int>;

struct Pair {
  Atomic x{0}, y{0};
  Var plain{0};
};
using Bodies = std::vector<Body<Pair>>;

// -- how much is searched -------------------------------------------------------------------------------------------

TEST(Explore, FinishesOneRunOfEachClass) {
  const auto schedules = [](Bodies bodies) {
    return explore<Pair>(with(MemoryModel::kSequential), std::move(bodies)).schedules;
  };
  const Body<Pair> add_x = [](Pair& pair) { pair.x.fetch_add(1); };
  const Body<Pair> add_y = [](Pair& pair) { pair.y.fetch_add(1); };
  const Body<Pair> load_x = [](Pair& pair) { pair.x.load(); };
  const Body<Pair> add_x_twice = [](Pair& pair) { pair.x.fetch_add(1), pair.x.fetch_add(1); };
  EXPECT_EQ(schedules({add_x, add_x}), 2u);
  EXPECT_EQ(schedules({add_x, add_y}), 1u);
  EXPECT_EQ(schedules({load_x, load_x, load_x}), 1u);
  EXPECT_EQ(schedules({add_x, add_x, add_x, add_x}), 24u);
  EXPECT_EQ(schedules({add_x_twice, add_x_twice}), 6u);
}

TEST(Explore, CountsRunsWithinTheBound) {
  const Body<Pair> add_twice = [](Pair& pair) { pair.x.fetch_add(1), pair.x.fetch_add(1); };
  const auto schedules = [&](int bound) {
    return explore<Pair>(with(MemoryModel::kSequential, bound), {add_twice, add_twice}).schedules;
  };
  EXPECT_EQ(schedules(0), 2u);  // 0011 1100
  EXPECT_EQ(schedules(1), 4u);  // 0110 1001
  EXPECT_EQ(schedules(2), 6u);  // 0101 1010
  EXPECT_EQ(schedules(3), 6u);
}

// Each step is the other thread's answer to the one before.
const Bodies kDialogue = {[](Pair& pair) {
                            pair.x.store(1);
                            if (pair.y.load() == 1) pair.x.store(2);
                            pair.x.store(3);
                          },
                          [](Pair& pair) {
                            if (pair.x.load() != 1) return;
                            pair.y.store(1);
                            require(pair.x.load() != 2, "nobody answers so fast");
                          }};

TEST(Explore, FindsWhatTakesThreePreemptionsWithThree) {
  const Outcome with_two = explore<Pair>(with(MemoryModel::kSequential, 2), kDialogue);
  EXPECT_TRUE(with_two.passed()) << with_two.report;
  const Outcome with_three = explore<Pair>(with(MemoryModel::kSequential, 3), kDialogue);
  EXPECT_EQ(with_three.verdict, Verdict::kRequirement);
  const Outcome with_five = explore<Pair>(with(MemoryModel::kSequential, 5), kDialogue);
  EXPECT_EQ(with_five.verdict, Verdict::kRequirement);
  EXPECT_EQ(with_five.preemptions, 3);
  EXPECT_EQ(explore<Pair>(with(MemoryModel::kSequential), kDialogue).verdict, Verdict::kRequirement);
}

// A thread that relaxes lets others go on, which is no preemption.
TEST(Explore, RelaxingIsNoPreemption) {
  const auto verdict = [](bool relaxes) {
    const Body<Pair> blink = [relaxes](Pair& pair) {
      pair.x.store(1);
      if (relaxes) ScheduledAtomics::cpu_relax();
      pair.x.store(2);
    };
    const Body<Pair> look = [](Pair& pair) { require(pair.x.load() != 1, "too short to be seen"); };
    return explore<Pair>(with(MemoryModel::kSequential, 0), {blink, look}).verdict;
  };
  EXPECT_EQ(verdict(true), Verdict::kRequirement);
  EXPECT_EQ(verdict(false), Verdict::kPassed);
}

TEST(Explore, IsNoProofIfItIsCutOff) {
  Options options = with(MemoryModel::kSequential);
  options.max_schedules = 5;
  const Body<Pair> add = [](Pair& pair) { pair.x.fetch_add(1); };
  EXPECT_EQ(explore<Pair>(options, {add, add, add}).verdict, Verdict::kUnfinished);
  options.max_schedules = 6;
  EXPECT_EQ(explore<Pair>(options, {add, add, add}).verdict, Verdict::kPassed);
}

// -- what is wrong with a run ---------------------------------------------------------------------------------------

struct TwoLocks {
  Atomic first{0}, second{0};

  static void lock(Atomic& lock) {
    while (lock.exchange(1, kAcquire) != 0) ScheduledAtomics::cpu_relax();
  }
  static void unlock(Atomic& lock) { lock.store(0, kRelease); }
  static void visit(Atomic& outer, Atomic& inner) {
    lock(outer);
    lock(inner);
    unlock(inner);
    unlock(outer);
  }
};

TEST(Explore, FindsDeadlocks) {
  const Body<TwoLocks> forwards = [](TwoLocks& locks) { TwoLocks::visit(locks.first, locks.second); };
  const Body<TwoLocks> backwards = [](TwoLocks& locks) { TwoLocks::visit(locks.second, locks.first); };
  for (const MemoryModel memory : kModels) {
    for (const int bound : {kUnbounded, 1}) {
      const Outcome right = explore<TwoLocks>(with(memory, bound), {forwards, forwards});
      EXPECT_TRUE(right.passed()) << right.report;
      EXPECT_EQ(explore<TwoLocks>(with(memory, bound), {forwards, backwards}).verdict, Verdict::kDeadlock);
    }
    EXPECT_TRUE(explore<TwoLocks>(with(memory, 0), {forwards, backwards}).passed());
  }
}

TEST(Explore, TakesALoopWithoutRelaxForALivelock) {
  for (const MemoryModel memory : kModels) {
    const Outcome outcome = explore<Pair>(with(memory), {[](Pair& pair) {
                                                           while (pair.x.load() == 0) {
                                                           }
                                                         },
                                                         [](Pair& pair) { pair.x.store(1); }});
    EXPECT_EQ(outcome.verdict, Verdict::kLivelock);
  }
}

// Two that undo each other's work for ever, each round with a change of its own.
TEST(Explore, FindsLivelocks) {
  const auto insist = [](int mine) {
    return [mine](Pair& pair) {
      do pair.x.store(mine);
      while (pair.x.load() == mine && pair.y.load() == 0);
    };
  };
  EXPECT_EQ(explore<Pair>(with(MemoryModel::kSequential), {insist(1), insist(2)}).verdict, Verdict::kLivelock);
}

TEST(Explore, FindsRaces) {
  const Body<Pair> read = [](Pair& pair) { static_cast<void>(static_cast<int>(pair.plain)); };
  const Body<Pair> write = [](Pair& pair) { pair.plain = 1; };
  for (const MemoryModel memory : kModels) {
    EXPECT_EQ(explore<Pair>(with(memory), {read, read}).verdict, Verdict::kPassed);
    EXPECT_EQ(explore<Pair>(with(memory), {read, write}).verdict, Verdict::kRace);
    EXPECT_EQ(explore<Pair>(with(memory), {write, read}).verdict, Verdict::kRace);
    EXPECT_EQ(explore<Pair>(with(memory), {write, write}).verdict, Verdict::kRace);
  }
}

struct Late {
  alignas(Atomic) std::byte memory[sizeof(Atomic)];
  ScheduledAtomics::Atomic<Atomic*> made{nullptr};
};

TEST(Explore, WatchesTheLivesOfAtomics) {
  const auto use = [](MemoryOrder order) {
    return [order](Late& late) {
      if (Atomic* const atomic = late.made.load(order)) atomic->load(kRelaxed);
    };
  };
  const Body<Late> make = [](Late& late) { late.made.store(new (late.memory) Atomic(1), kRelease); };
  const Body<Late> make_and_destroy = [](Late& late) {
    auto* const atomic = new (late.memory) Atomic(1);
    late.made.store(atomic, kRelease);
    late.made.store(nullptr, kRelaxed);
    atomic->~Atomic();
  };
  const auto verdict = [](Body<Late> first, Body<Late> second) {
    return explore<Late>(with(MemoryModel::kSequential), {std::move(first), std::move(second)}).verdict;
  };
  EXPECT_EQ(verdict(make, use(kAcquire)), Verdict::kPassed);
  EXPECT_EQ(verdict(make, use(kRelaxed)), Verdict::kRace);
  EXPECT_EQ(verdict(make_and_destroy, use(kAcquire)), Verdict::kRace);
}

struct Many {
  Atomic atomics[kMaxLocations + 1];
};

TEST(Explore, NoticesATestThatIsNotRepeatable) {
  int runs = 0;
  const Body<Pair> moody = [&runs](Pair& pair) {
    for (int left = ++runs % 3; left >= 0; --left) pair.x.fetch_add(1);
  };
  EXPECT_EQ(explore<Pair>(with(MemoryModel::kSequential), {moody, moody}).verdict, Verdict::kConfused);
}

TEST(ExploreDeathTest, RefusesMoreAtomicsThanItCanTell) {
  EXPECT_DEATH(explore<Many>(with(MemoryModel::kSequential), {[](Many&) {}}), "more atomics");
  EXPECT_DEATH(Atomic(1), "outside explore");
}

TEST(Explore, ChecksTheEnd) {
  const Body<Pair> add = [](Pair& pair) { pair.x.store(pair.x.load() + 1); };
  const Outcome outcome = explore<Pair>(with(MemoryModel::kSequential), {add, add},
                                        [](Pair& pair) { require(pair.x.load() == 2, "both were counted"); });
  EXPECT_EQ(outcome.verdict, Verdict::kRequirement);
  EXPECT_NE(outcome.report.find("both were counted    explore_test.cpp:"), std::string::npos) << outcome.report;
}

// -- waiting --------------------------------------------------------------------------------------------------------

TEST(Explore, WaitsWithoutRepeatingARound) {
  for (const MemoryModel memory : kModels) {
    const Outcome outcome = explore<Pair>(with(memory), {[](Pair& pair) {
                                                           while (pair.x.load(kAcquire) == 0)
                                                             ScheduledAtomics::cpu_relax();
                                                           require(pair.plain == 5, "what came before");
                                                         },
                                                         [](Pair& pair) {
                                                           pair.plain = 5;
                                                           pair.x.store(1, kRelease);
                                                         }});
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    EXPECT_LE(outcome.schedules, 4u);
  }
}

// A round that fails changes nothing, so that two threads that wait for a third do not wake each other.
TEST(Explore, WaitersDoNotWakeEachOther) {
  const Body<TwoLocks> visit = [](TwoLocks& locks) {
    TwoLocks::lock(locks.first);
    TwoLocks::unlock(locks.first);
  };
  for (const MemoryModel memory : kModels) {
    const Outcome outcome = explore<TwoLocks>(with(memory), {visit, visit, visit});
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    EXPECT_LT(outcome.schedules, 1000u);
  }
}

struct Words {
  ScheduledAtomics::Atomic<uint32_t> word{0};
};

TEST(Explore, WakesAsManySleepersAsAsked) {
  const Body<Words> sleep = [](Words& state) { ScheduledAtomics::futex_wait(state.word, 0); };
  const auto verdict = [&](int count) {
    const Body<Words> wake = [count](Words& state) {
      state.word.store(1);
      ScheduledAtomics::futex_wake(state.word, count);
    };
    return explore<Words>(with(MemoryModel::kStoreBuffers), {sleep, sleep, wake}).verdict;
  };
  EXPECT_EQ(verdict(1), Verdict::kDeadlock);
  EXPECT_EQ(verdict(2), Verdict::kPassed);
}

// A round that has seen a change midway need not be the last.
TEST(Explore, WaitsAgainAfterARoundThatSawAChange) {
  const Body<Pair> wait = [](Pair& pair) {
    while (true) {
      const int first = pair.x.load(kRelaxed);
      if (first == 1 && pair.x.load(kRelaxed) == 1) return;
      pair.x.load(kRelaxed);
      ScheduledAtomics::cpu_relax();
    }
  };
  for (const MemoryModel memory : kModels) {
    const Outcome outcome = explore<Pair>(with(memory), {wait, [](Pair& pair) { pair.x.store(1, kRelaxed); }});
    EXPECT_TRUE(outcome.passed()) << outcome.report;
  }
}

TEST(Explore, WakesWhoSleptLongest) {
  const Body<Words> sleep = [](Words& state) { ScheduledAtomics::futex_wait(state.word, 0); };
  const Body<Words> wake_one = [](Words& state) { ScheduledAtomics::futex_wake(state.word, 1); };
  const Outcome outcome = explore<Words>(with(MemoryModel::kSequential, 0), {sleep, sleep, wake_one});
  ASSERT_EQ(outcome.verdict, Verdict::kDeadlock) << outcome.report;
  EXPECT_NE(outcome.report.find("thread 0  is woken"), std::string::npos) << outcome.report;
}

// -- what it says ---------------------------------------------------------------------------------------------------

TEST(Explore, RepeatsARunByItsSchedule) {
  for (const MemoryModel memory : kModels) {
    const Outcome found = explore<Pair>(with(memory), kDialogue);
    ASSERT_EQ(found.verdict, Verdict::kRequirement);
    Options options = with(memory);
    options.replay = found.schedule;
    const Outcome repeated = explore<Pair>(options, kDialogue);
    EXPECT_EQ(repeated.verdict, found.verdict);
    EXPECT_EQ(repeated.schedule, found.schedule);
    // The steps are the same, whatever has been counted on the way.
    const auto steps_of = [](const std::string& report) { return report.substr(report.find("  thread")); };
    EXPECT_EQ(steps_of(repeated.report), steps_of(found.report));
  }
  Options options = with(MemoryModel::kSequential);
  options.replay = "9";
  EXPECT_EQ(explore<Pair>(options, kDialogue).verdict, Verdict::kConfused);
}

TEST(Explore, TellsARunStepByStep) {
  const Outcome outcome = explore<Pair>(with(MemoryModel::kStoreBuffers, 0), {[](Pair& pair) {
                                                                                pair.x.store(1, kRelaxed);
                                                                                require(pair.y.load() == 1, "hello");
                                                                              },
                                                                              [](Pair& pair) {
                                                                                pair.plain = 3;
                                                                                pair.x.fetch_or(2);
                                                                                pair.y.store(1);
                                                                              }});
  ASSERT_EQ(outcome.verdict, Verdict::kRequirement);
  for (const char* const line :
       {"required: hello", "thread 0  store(relaxed) a0: 1", "thread 0  load(seq_cst) a1: 0"}) {
    EXPECT_NE(outcome.report.find(line), std::string::npos) << line << "\n" << outcome.report;
  }
}

// An order that nothing needs is named, and one that is needed is not.
TEST(UnnoticedWeakenings, NameWhatIsTooStrong) {
  const std::vector<std::string> unnoticed = unnoticed_weakenings<Pair>({}, {MemoryModel::kSequential},
                                                                        {[](Pair& pair) {
                                                                           pair.plain = 1;
                                                                           pair.x.store(1, kSeqCst);
                                                                         },
                                                                         [](Pair& pair) {
                                                                           if (pair.x.load(kAcquire) == 1) {
                                                                             require(pair.plain == 1, "the value");
                                                                           }
                                                                         }});
  ASSERT_EQ(unnoticed.size(), 1u);
  EXPECT_NE(unnoticed[0].find(" store(seq_cst) as store(release)"), std::string::npos) << unnoticed[0];
}

// Two ways to give a value; a scenario reaches only the ways that it takes.
class Ways {
 public:
  void give_exactly() {
    value_ = 1;
    exact_.store(1, kRelease);
  }
  void give_too_strongly() {
    value_ = 1;
    strong_.store(1, kSeqCst);
  }
  void give_twice() {
    value_ = 1;
    exact_.store(1, kRelease);
    strong_.store(1, kRelease);
  }
  void take_exact() { take(exact_.load(kAcquire)); }
  void take_strong() { take(strong_.load(kAcquire)); }

 private:
  void take(int given) {
    if (given == 1) require(value_ == 1, "the value");
  }

  ScheduledAtomics::Var<int> value_{0};
  ScheduledAtomics::Atomic<int> exact_{0}, strong_{0};
};

std::vector<std::string> unnoticed_of(const std::vector<schedule::Bodies<Ways>>& scenarios) {
  return unnoticed_by_all<Ways>(scenarios, {MemoryModel::kSequential}, {});
}

TEST(UnnoticedByAll, NamesWhatOneScenarioAloneComesBy) {
  EXPECT_EQ(unnoticed_of({{&Ways::give_exactly, &Ways::take_exact}, {&Ways::give_too_strongly, &Ways::take_strong}}),
            std::vector<std::string>{"explore_test.cpp give_too_strongly: store(seq_cst) as store(release)"});
}

// The first store is missed by one of the scenarios, the second by both.
TEST(UnnoticedByAll, TellsPlacesOfOneTextApart) {
  EXPECT_EQ(unnoticed_of({{&Ways::give_twice, &Ways::take_exact}, {&Ways::give_twice, [](Ways&) {}}}),
            std::vector<std::string>{"explore_test.cpp give_twice: store(release) as store(relaxed)"});
}

TEST(UnnoticedByAll, TellsOfAScenarioThatFails) {
  const Body<Ways> fails = [](Ways&) { require(false, "what never holds"); };
  const std::vector<std::string> told = unnoticed_of({{&Ways::give_exactly, &Ways::take_exact}, {fails}});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("required: what never holds"), std::string::npos) << told[0];
}

TEST(Weakening, NamesTheFunctionHoweverTheCompilerWritesIt) {
  EXPECT_EQ(bare_name("bool snug::Stack<T>::pop(T) [with T = int]"), "pop");
  EXPECT_EQ(bare_name("void snug::(anonymous namespace)::Room<snug::(anonymous namespace)::Forks>::hold()"), "hold");
  EXPECT_EQ(bare_name("main"), "main");
}

}  // namespace
}  // namespace snug::schedule
