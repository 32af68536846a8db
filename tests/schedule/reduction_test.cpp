// Random small programs, each searched in full and with everything that spares runs: the findings must be the same.
//
// In full means every order of every step: no sleep sets, no landing left out. A finding is what all registers hold at
// the end, or the verdict. With a bound on preemptions the full search counts those of its runs that keep to it.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/atomic.h"
#include "explore.h"
#include "scheduled_atomics.h"

namespace snug::schedule {
namespace {

using Findings = std::set<std::string>;
using Atomic = ScheduledAtomics::Atomic<uint32_t>;

struct Registers {
  Atomic x{0}, y{0};
  ScheduledAtomics::Var<uint32_t> plain{0};
  std::string seen[3];  // by each thread
};

struct Instruction {
  unsigned what, location, value;
};
using Program = std::vector<std::vector<Instruction>>;

void perform(Registers& state, unsigned thread, const Instruction& instruction) {
  Atomic& atomic = instruction.location == 0 ? state.x : state.y;
  const uint32_t value = instruction.value;
  uint32_t found = 0;
  switch (instruction.what) {
    case 0:
    case 1:
      atomic.store(value, kRelaxed);
      return;
    case 2:
      atomic.store(value, kRelease);
      return;
    case 3:
      atomic.store(value, kSeqCst);
      return;
    case 4:
    case 5:
      found = atomic.load(kRelaxed);
      break;
    case 6:
      found = atomic.load(kAcquire);
      break;
    case 7:
      found = atomic.load(kSeqCst);
      break;
    case 8:
      found = atomic.fetch_add(value, kRelaxed);
      break;
    case 9:
      found = atomic.exchange(value, kAcqRel);
      break;
    case 10:
      atomic.compare_exchange_strong(found, value, kAcquire);
      break;
    case 11:
      ScheduledAtomics::fence(kSeqCst);
      return;
    case 12:
      ScheduledAtomics::light_fence();
      return;
    case 13:
      ScheduledAtomics::membarrier();
      return;
    case 14:
      while ((found = atomic.load(kAcquire)) == 0) ScheduledAtomics::cpu_relax();
      break;
    case 15:
      ScheduledAtomics::futex_wait(atomic, 0);
      return;
    case 16:
      ScheduledAtomics::futex_wake(atomic, 1);
      return;
    case 17:  // plain data behind what an acquire has seen, or a race
      if (atomic.load(kAcquire) == value) state.plain += value;
      return;
    default:
      FAIL() << instruction.what;
  }
  state.seen[thread] += static_cast<char>('0' + found);
}
constexpr unsigned kInstructions = 18, kFirstThatWaits = 14;

class SmallRandom {
 public:
  explicit SmallRandom(uint64_t seed) : state_(seed * 2 + 1) {}
  unsigned below(unsigned limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>((state_ >> 33) % limit);
  }

 private:
  uint64_t state_;
};

Program random_program(uint64_t seed) {
  SmallRandom random(seed);
  Program program(2 + random.below(2));
  for (auto& thread : program) {
    const unsigned length = program.size() == 2 ? 3 + random.below(3) : 1 + random.below(3);
    for (unsigned i = 0; i < length; ++i) {
      // What waits comes seldom, or most programs would do nothing else.
      const unsigned what = random.below(4) == 0 ? random.below(kInstructions) : random.below(kFirstThatWaits);
      thread.push_back({what, random.below(2), 1 + random.below(2)});
    }
  }
  return program;
}

// Calls finding(text, preemptions) after each run; returns how many there were.
template <class Finding>
uint64_t search_all(const Program& program, MemoryModel memory, Search::Reduction reduction, int preemptions,
                    Finding finding) {
  std::vector<Body<Registers>> bodies;
  bodies.reserve(program.size());
  for (unsigned thread = 0; thread < program.size(); ++thread) {
    bodies.push_back([&program, thread](Registers& state) {
      for (const Instruction& instruction : program[thread]) perform(state, thread, instruction);
    });
  }
  std::string end;
  StateScenario<Registers> scenario([] { return std::make_unique<Registers>(); }, bodies,
                                    [&end](Registers& state) {
                                      end = state.seen[0] + "," + state.seen[1] + "," + state.seen[2] + " " +
                                            std::to_string(state.x.load()) + std::to_string(state.y.load()) +
                                            std::to_string(state.plain);
                                    });
  Scheduler scheduler(scenario, memory, 1000);
  Search search(reduction);
  uint64_t runs = 0;
  do {
    ++runs;
    if (!scheduler.run(search, preemptions, false)) continue;
    const Verdict verdict = scheduler.verdict();
    finding(verdict == Verdict::kPassed ? end : "verdict " + std::to_string(static_cast<int>(verdict)),
            scheduler.preemptions_taken());
  } while (search.advance() && runs < 2'000'000);
  return runs;
}

class Reduction : public testing::TestWithParam<MemoryModel> {};

TEST_P(Reduction, LosesNoFinding) {
  constexpr int kBounds = 4, kManyPreemptions = 100;
  constexpr uint64_t kPrograms = 200;
  uint64_t full_runs = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Program program = random_program(seed);
    Findings full, within[kBounds];
    const uint64_t runs = search_all(program, GetParam(), Search::Reduction::kNone, kUnbounded,
                                     [&](const std::string& text, int preemptions) {
                                       full.insert(text);
                                       for (int bound = preemptions; bound < kBounds; ++bound) {
                                         within[bound].insert(text);
                                       }
                                     });
    ASSERT_LT(runs, 2'000'000u) << "seed " << seed;
    full_runs += runs;

    const auto findings = [&](Search::Reduction reduction, int preemptions) {
      Findings found;
      search_all(program, GetParam(), reduction, preemptions,
                 [&](const std::string& text, int) { found.insert(text); });
      return found;
    };
    ASSERT_EQ(findings(Search::Reduction::kSleepSets, kUnbounded), full) << "seed " << seed;
    ASSERT_EQ(findings(Search::Reduction::kNone, kManyPreemptions), full) << "seed " << seed;
    for (int bound = 0; bound < kBounds; ++bound) {
      ASSERT_EQ(findings(Search::Reduction::kNone, bound), within[bound]) << "seed " << seed << ", bound " << bound;
    }
  }
  EXPECT_GT(full_runs, 20'000u);  // the programs are no trifles
}

std::string name_of(const testing::TestParamInfo<MemoryModel>& model) {
  const char* const names[] = {"Sequential", "StoreBuffers", "Views"};
  return names[static_cast<int>(model.param)];
}

INSTANTIATE_TEST_SUITE_P(Model, Reduction,
                         testing::Values(MemoryModel::kSequential, MemoryModel::kStoreBuffers, MemoryModel::kViews),
                         name_of);

}  // namespace
}  // namespace snug::schedule
