// What proofs of protocols share: a scenario of threads passes in every memory model, and each order that is weakened
// is caught by some scenario.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
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

template <class State>
void prove(const Bodies<State>& bodies, int preemptions, const Body<State>& check) {
  for (const MemoryModel memory : kModels) {
    const Outcome outcome = explore<State>(with(memory, preemptions), bodies, check);
    EXPECT_TRUE(outcome.passed()) << outcome.report;
    testing::Test::RecordProperty("schedules", std::to_string(outcome.schedules));
  }
}

// The weakened orders that no scenario notices, in any of the models; without the numbers of lines.
template <class State>
std::vector<std::string> unnoticed_by_all(const std::vector<Bodies<State>>& scenarios,
                                          const std::vector<MemoryModel>& models, const Body<State>& check) {
  std::map<std::string, size_t> unnoticed;
  for (const Bodies<State>& bodies : scenarios)
    for (const std::string& one : unnoticed_weakenings<State>(with(MemoryModel::kViews, 3), models, bodies, check))
      ++unnoticed[std::regex_replace(one, std::regex(":[0-9]+"), "")];
  std::vector<std::string> by_none;
  for (const auto& [one, times] : unnoticed)
    if (times == scenarios.size()) by_none.push_back(one);
  return by_none;
}

}  // namespace snug::schedule
