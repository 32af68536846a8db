#include "explore.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <source_location>

namespace snug::schedule {

namespace {

std::string counts_of(const Outcome& outcome) {
  std::string text = std::to_string(outcome.schedules) + " schedules, " + std::to_string(outcome.repeats) + " given up";
  if (outcome.preemptions != kUnbounded) text += ", at most " + std::to_string(outcome.preemptions) + " preemptions";
  return text;
}

// Repeats the run of outcome.schedule and writes down what happened.
void report_run(Scheduler& scheduler, Outcome& outcome) {
  Search search(outcome.schedule);
  scheduler.run(search, kUnbounded, true);
  const Verdict before = outcome.verdict;
  outcome.verdict = scheduler.verdict();
  outcome.schedule = search.schedule();
  outcome.report = scheduler.complaint() + "\n(" + counts_of(outcome) + "; Options::replay = \"" + outcome.schedule +
                   "\")\n" + scheduler.trace();
  if (before == Verdict::kPassed || before == outcome.verdict) return;
  outcome.verdict = Verdict::kConfused;
  outcome.report =
      "a run failed and did not when it was repeated: the test depends on more than its schedule\n" + outcome.report;
}

// All runs with this bound. False if one failed.
bool search_through(Scheduler& scheduler, const Options& options, Outcome& outcome) {
  Search search(outcome.preemptions == kUnbounded ? Search::Reduction::kSleepSets : Search::Reduction::kNone);
  outcome.schedules = outcome.repeats = 0;
  do {
    if (outcome.schedules + outcome.repeats == options.max_schedules) {
      outcome.verdict = Verdict::kUnfinished;
      outcome.report = "unfinished, and so no proof: more schedules than Options::max_schedules\n" + counts_of(outcome);
      return false;
    }
    const bool is_new = scheduler.run(search, outcome.preemptions, false);
    ++(is_new ? outcome.schedules : outcome.repeats);
    if (scheduler.verdict() != Verdict::kPassed) {
      outcome.verdict = scheduler.verdict();
      outcome.schedule = search.schedule();
      report_run(scheduler, outcome);
      return false;
    }
  } while (search.advance());
  outcome.report = "passed: " + counts_of(outcome);
  return true;
}

Outcome explore_with(Scheduler& scheduler, const Options& options) {
  Outcome outcome;
  if (options.replay.has_value()) {
    outcome.preemptions = kUnbounded;
    outcome.schedule = *options.replay;
    outcome.schedules = 1;
    report_run(scheduler, outcome);
    return outcome;
  }
  outcome.preemptions = options.preemptions == kUnbounded ? kUnbounded : 0;
  while (search_through(scheduler, options, outcome) && outcome.preemptions != options.preemptions) {
    ++outcome.preemptions;
  }
  return outcome;
}

bool is_noticed(const Weakening& weakening, Options options, const std::vector<MemoryModel>& models,
                Scenario& scenario) {
  for (const MemoryModel model : models) {
    Scheduler scheduler(scenario, model, options.max_steps);
    scheduler.weaken(weakening);
    const Outcome outcome = explore_with(scheduler, options);
    if (!outcome.passed() && outcome.verdict != Verdict::kUnfinished) return true;
  }
  return false;
}

}  // namespace

Outcome explore(const Options& options, Scenario& scenario) {
  Scheduler scheduler(scenario, options.memory, options.max_steps);
  return explore_with(scheduler, options);
}

std::vector<std::string> unnoticed_weakenings(const Options& options, const std::vector<MemoryModel>& models,
                                              const std::vector<Scenario*>& scenarios, std::string_view file) {
  std::map<Place, std::vector<Scenario*>> passing;  // of each place, the scenarios that come by
  for (Scenario* const scenario : scenarios) {
    std::set<Place> places;
    for (const MemoryModel model : models) {
      Scheduler scheduler(*scenario, model, options.max_steps);
      scheduler.note_places(places);
      const Outcome outcome = explore_with(scheduler, options);
      if (!outcome.passed()) return {outcome.report};
    }
    for (const Place& place : places) passing[place].push_back(scenario);
  }
  std::vector<std::string> unnoticed;
  bool came_by_file = file.empty();
  for (const auto& [place, those] : passing) {
    if (!file.empty() && place.file.substr(place.file.rfind('/') + 1) != file) continue;
    came_by_file = true;
    for (const Weakening& weakening : weakenings_of(place)) {
      const auto notices = [&](Scenario* scenario) { return is_noticed(weakening, options, models, *scenario); };
      if (std::none_of(those.begin(), those.end(), notices)) unnoticed.push_back(weakening.text());
    }
  }
  if (!came_by_file) return {"no scenario comes by " + std::string(file)};
  return unnoticed;
}

void require(bool condition, const char* what, std::source_location where) {
  if (condition) return;
  const char* const slash = std::strrchr(where.file_name(), '/');
  Scheduler::active().fail(Verdict::kRequirement, std::string("required: ") + what + "    " +
                                                      (slash != nullptr ? slash + 1 : where.file_name()) + ":" +
                                                      std::to_string(where.line()));
}

}  // namespace snug::schedule
