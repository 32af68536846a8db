// explore(): proves a small concurrent test by running it in every way that it can run, or shows the way in which it
// fails. tests/schedule/README.md teaches how to write one.
//
// The test's threads share a State, which is made anew for each run. Whatever a body allocates belongs to it: a run
// that fails or is given up never unwinds the bodies' stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory.h"
#include "scheduler.h"

namespace snug::schedule {

inline constexpr int kUnbounded = Scheduler::kUnbounded;

struct Options {
  MemoryModel memory = MemoryModel::kStoreBuffers;
  // How often a run may leave a thread that could go on. Unbounded: every run, one for each class of equivalent ones.
  // With a bound each smaller one is tried first, so that a failure shows the fewest.
  int preemptions = kUnbounded;
  // Steps of one run, plain accesses included; more is a livelock.
  unsigned max_steps = 5000;
  // More is no proof: Verdict::kUnfinished.
  uint64_t max_schedules = 20'000'000;
  // Runs this one alone, with a trace: what a report has printed, in the same memory model.
  std::optional<std::string> replay;
};

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  uint64_t schedules = 0;  // runs that came to their end; with a bound, those of the last one
  uint64_t repeats = 0;    // runs that were given up, since they could only repeat one of those
  int preemptions = 0;     // the bound with which it ended
  std::string schedule;    // of the run that failed
  std::string report;      // what happened, with a line for each step of that run

  bool passed() const { return verdict == Verdict::kPassed; }
};

Outcome explore(const Options& options, Scenario& scenario);

// Weakens each memory order of the protocol, one place at a time. Returns as text the weakenings with which every
// scenario that reaches the place passes in all of the models; a scenario that does not reach it says nothing of it.
// All scenarios must pass unweakened; if one does not, its report is all that is returned. `file`: the name of the file
// with the orders, or all; a line says if no scenario reaches it.
std::vector<std::string> unnoticed_weakenings(const Options& options, const std::vector<MemoryModel>& models,
                                              const std::vector<Scenario*>& scenarios, std::string_view file = {});

// Inside a body or the final check: fails the run unless `condition` holds.
void require(bool condition, const char* what, std::source_location where = std::source_location::current());

template <class State>
using Body = std::function<void(State&)>;

template <class State>
class StateScenario final : public Scenario {
 public:
  StateScenario(std::function<std::unique_ptr<State>()> make_state, std::vector<Body<State>> bodies,
                Body<State> final_check)
      : make_state_(std::move(make_state)), bodies_(std::move(bodies)), final_check_(std::move(final_check)) {}

  unsigned threads() const override { return static_cast<unsigned>(bodies_.size()); }
  void begin() override { state_ = make_state_(); }
  void run(unsigned thread) override { bodies_[thread](*state_); }
  void check() override {
    if (final_check_) final_check_(*state_);
  }
  void end() override { state_.reset(); }

 private:
  std::function<std::unique_ptr<State>()> make_state_;
  std::vector<Body<State>> bodies_;
  Body<State> final_check_;
  std::unique_ptr<State> state_;
};

// One thread for each body, at most kMaxThreads. `final_check`, if any, runs when all have ended.
template <class State>
Outcome explore(const Options& options, std::function<std::unique_ptr<State>()> make_state,
                std::vector<Body<State>> bodies, Body<State> final_check = {}) {
  StateScenario<State> scenario(std::move(make_state), std::move(bodies), std::move(final_check));
  return explore(options, scenario);
}

template <class State>
std::vector<std::string> unnoticed_weakenings(const Options& options, const std::vector<MemoryModel>& models,
                                              std::vector<Body<State>> bodies, Body<State> final_check = {}) {
  StateScenario<State> scenario([] { return std::make_unique<State>(); }, std::move(bodies), std::move(final_check));
  return unnoticed_weakenings(options, models, {&scenario});
}

// For a State that is ready when it is made.
template <class State>
Outcome explore(const Options& options, std::vector<Body<State>> bodies, Body<State> final_check = {}) {
  return explore<State>(options, [] { return std::make_unique<State>(); }, std::move(bodies), std::move(final_check));
}

}  // namespace snug::schedule
