#include "replay_command/replay_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "library/snug_library.h"
#include "print/quantity.h"
#include "process/temporary_folder.h"
#include "replay_command/components.h"
#include "statistics/statistics.h"

namespace snug::tool {

namespace {

constexpr const char* kNanoseconds = "ns";

double nanoseconds(double ticks, const OwnCost& own) { return ticks / own.ticks_a_nanosecond; }

// Resident memory as a multiple of what was asked for, over all checkpoints.
std::optional<double> resident_per_byte(const ReplayResult& result) {
  double resident = 0;
  double live = 0;
  for (const Checkpoint& checkpoint : result.checkpoints) {
    resident += static_cast<double>(checkpoint.resident_bytes);
    live += static_cast<double>(checkpoint.live_bytes);
  }
  if (live == 0) return std::nullopt;
  return resident / live;
}

std::vector<Figure> figures_of(const ReplayResult& result) {
  std::vector<Figure> figures;
  const auto add = [&](const char* name, double value, const char* unit, bool higher_is_better) {
    figures.push_back({.name = name, .value = value, .unit = unit, .higher_is_better = higher_is_better});
  };
  if (result.cost.wall_seconds > 0)
    add("throughput", static_cast<double>(result.calls) / result.cost.wall_seconds / 1e6, "M calls/s", true);
  if (!result.checkpoints.empty())
    add("final RSS", static_cast<double>(result.checkpoints.back().resident_bytes), kBytes, false);
  if (const auto multiple = resident_per_byte(result)) add("RSS per live byte", *multiple, "B/B", false);
  // Means alone, which are exact: a quantile is told within an eighth, and two that differ by a hair may lie on both
  // sides of a bucket's edge in every round, which would prove more than is so.
  for (const auto& [calls, mean] :
       {std::pair(Calls::kComing, "allocation, mean"), std::pair(Calls::kGoing, "free, mean")}) {
    const Ticks ticks = ticks_of(result.rows, calls, result.own);
    if (ticks.count != 0) add(mean, nanoseconds(ticks.mean, result.own), kNanoseconds, false);
  }
  return figures;
}

// To a replayer that has ended well, or that could not start a thread.
std::string objection_of(const ReplayResult& result) {
  if (result.failed_threads != 0) return "a thread could not be started";
  if (!result.is_whole) return "the replayer ended before the trace did";
  if (result.order_faults != 0)
    return fmt::format("{} calls came before the block that they name", result.order_faults);
  if (result.failed_allocations != 0)
    return fmt::format("{} allocations failed that had not when recorded", result.failed_allocations);
  return {};
}

double own_share(const ReplayResult& result) {
  const double own = result.own.nanoseconds * 1e-9 * static_cast<double>(result.calls);
  const double spent = result.cost.user_seconds + result.cost.system_seconds;
  return spent > 0 ? std::min(own / spent, 1.0) : 0;
}

void take(Replayed& replayed, ReplayResult result) {
  add_rows(replayed.rows, result.rows);
  replayed.own.push_back(result.own);
  replayed.own_shares.push_back(own_share(result));
  replayed.decoding_seconds += result.decoding_seconds;
  if (!replayed.checkpoints.empty()) return;
  replayed.checkpoints = std::move(result.checkpoints);
  replayed.map = std::move(result.map);
  replayed.calls = result.calls;
  replayed.threads = result.threads;
  replayed.sleeping_threads = result.steers_background ? 0 : result.own_threads;
  replayed.peak_live_bytes = result.peak_live_bytes;
  replayed.left_out = result.left_out;
}

std::string recorded_allocator(const ReplayPlan& plan) {
  const auto allocator = TraceInput(plan.file, Telling::kNothing, plan.process).fact("allocator");
  if (!allocator) return {};
  std::error_code error;
  return std::filesystem::canonical(*allocator, error);
}

// Why nobody is judged: the least of the contenders, of those that have a run that counts. Empty if all are.
std::string too_short(const ReplayComparison& replays) {
  double least = kLeastSecondsInCalls;
  std::string name;
  for (std::size_t i = 0; i < replays.replayed.size(); ++i) {
    const double seconds = replays.replayed[i].seconds_in_calls();
    if (replays.replayed[i].own.empty() || seconds >= least) continue;
    least = seconds;
    name = replays.comparison.contenders[i].allocator.name;
  }
  if (name.empty()) return {};
  return fmt::format("The trace is too short to judge anybody: its calls take {} on {}, and {} is the least",
                     value_text(least, kSeconds), name, value_text(kLeastSecondsInCalls, kSeconds));
}

}  // namespace

OwnCost Replayed::own_cost() const {
  std::vector<double> nanoseconds, clock_ticks, rates;
  OwnCost cost;
  for (const OwnCost& one : own) {
    nanoseconds.push_back(one.nanoseconds);
    clock_ticks.push_back(one.clock_ticks);
    rates.push_back(one.ticks_a_nanosecond);
    cost.bytes = std::max(cost.bytes, one.bytes);
  }
  cost.nanoseconds = median(nanoseconds);
  cost.clock_ticks = median(clock_ticks);
  if (!rates.empty()) cost.ticks_a_nanosecond = median(rates);
  return cost;
}

double Replayed::seconds_in_calls() const {
  double ticks = 0;
  const OwnCost own_cost = this->own_cost();
  for (const Calls calls : {Calls::kComing, Calls::kGoing}) {
    const Ticks all = ticks_of(rows, calls, own_cost);
    ticks += all.mean * static_cast<double>(all.count);
  }
  return own.empty() ? 0 : nanoseconds(ticks, own_cost) * 1e-9 / static_cast<double>(own.size());
}

ReplayPlan plan_for(const Allocator& allocator, ReplayPlan plan) {
  plan.component.component = replayer::Component::kNone;
  if (!allocator.is_component) return plan;
  plan.component.component = component_named(allocator.name).value_or(replayer::Component::kNone);
  plan.replayer = find_component_replayer();
  plan.window.tells_sizes = true;
  return plan;
}

ReplayComparison compare_replays(const ReplayPlan& plan, const ComparisonPlan& comparison_plan) {
  std::map<std::string, Replayed> replayed;
  Telling telling = Telling::kDamage;
  bool is_damaged = false;
  const RunOnce run_once = [&](Contender& contender, RunPlace place, const HeldSignals& signals,
                               const Advance& advance) {
    if (contender.allocator.is_component) place.proves_bindings = false;  // of malloc
    const TemporaryFolder folder;
    Command command{.arguments = {},
                    .environment = Environment::current(),
                    .input = "/dev/null",
                    .output = "/dev/null",
                    .errors = folder.path() / "errors",
                    .group = ProcessGroup::kOwn,
                    .huge_pages = contender.allocator.huge_pages};
    prepare_proof(comparison_plan, contender, place, folder.path(), command.environment);
    Run run;
    ReplayResult result = replay(plan_for(contender.allocator, plan), command, signals, advance, telling);
    telling = Telling::kNothing;  // it was told in the first
    is_damaged = is_damaged || result.is_damaged;
    run.measurement = result.cost;
    run.figures = figures_of(result);
    judge(comparison_plan, place, folder.path(), command.errors, contender, run);
    if (run.counts() || result.failed_threads != 0) run.objection = objection_of(result);
    if (run.counts() && place.round > 0) take(replayed[contender.allocator.name], std::move(result));
    return run;
  };
  ReplayComparison all{.plan = plan,
                       .comparison = compare(comparison_plan, run_once),
                       .replayed = {},
                       .is_damaged = false,
                       .recorded_on = recorded_allocator(plan)};
  all.is_damaged = is_damaged;
  for (const Contender& contender : all.comparison.contenders)
    all.replayed.push_back(std::move(replayed[contender.allocator.name]));
  all.comparison.no_verdict = too_short(all);
  return all;
}

}  // namespace snug::tool
