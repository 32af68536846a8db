// What proofs of protocols share: a scenario of threads passes in every memory model, and each order that is weakened
// is caught by some scenario that comes by its place.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "explore.h"

namespace snug::schedule {

inline const std::vector<MemoryModel> kModels = {MemoryModel::kSequential, MemoryModel::kStoreBuffers,
                                                 MemoryModel::kViews};

inline Options with(MemoryModel memory, int preemptions = kUnbounded) {
  Options options;
  options.memory = memory;
  options.preemptions = preemptions;
  return options;
}

// The threads of a scenario.
template <class State>
using Bodies = std::vector<Body<State>>;

// `in_views`: preemptions in the last model alone, where each load may read old values as well.
template <class State>
void prove(const Bodies<State>& bodies, int preemptions, const Body<State>& check, int in_views) {
  uint64_t schedules = 0;
  for (const MemoryModel memory : kModels) {
    const int bound = memory == MemoryModel::kViews ? in_views : preemptions;
    const Outcome outcome = explore<State>(with(memory, bound), bodies, check);
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    schedules += outcome.schedules;
  }
  testing::Test::RecordProperty("schedules", std::to_string(schedules));
}
template <class State>
void prove(const Bodies<State>& bodies, int preemptions, const Body<State>& check) {
  prove<State>(bodies, preemptions, check, preemptions);
}

// True if some order of the steps fails on x86-64: what has been planted is seen.
template <class State>
bool is_seen(const Bodies<State>& bodies, int preemptions, const Body<State>& check) {
  const Outcome outcome = explore<State>(with(MemoryModel::kStoreBuffers, preemptions), bodies, check);
  return !outcome.passed() && outcome.verdict != Verdict::kUnfinished;
}

// The weakened orders that no scenario notices of those that come by their place, in any of the models: a line for each
// place, without its number. A scenario that fails as it stands is told of instead. With a file, those in it alone.
template <class State>
std::vector<std::string> unnoticed_by_all(const std::vector<Bodies<State>>& scenarios,
                                          const std::vector<MemoryModel>& models, const Body<State>& check,
                                          std::string_view file = {}) {
  std::vector<StateScenario<State>> made;
  made.reserve(scenarios.size());  // they are pointed to
  std::vector<Scenario*> pointers;
  for (const Bodies<State>& bodies : scenarios) {
    made.emplace_back([] { return std::make_unique<State>(); }, bodies, check);
    pointers.push_back(&made.back());
  }
  std::vector<std::string> unnoticed = unnoticed_weakenings(with(MemoryModel::kViews, 3), models, pointers, file);
  for (std::string& one : unnoticed) one = std::regex_replace(one, std::regex("^([^ :]+):[0-9]+ "), "$1 ");
  std::sort(unnoticed.begin(), unnoticed.end());
  return unnoticed;
}

}  // namespace snug::schedule
