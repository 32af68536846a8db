// A trace replayed on several allocators: the comparison of the replays, and what each of them has shown.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "replay_command/replay_result.h"
#include "replay_command/replay_run.h"

namespace snug::tool {

// What the runs of one contender that count have shown.
struct Replayed {
  std::vector<TickRow> rows;            // of all together
  std::vector<OwnCost> own;             // of each
  std::vector<Checkpoint> checkpoints;  // of the first
  HeapMap map;                          // of the first
  std::uint64_t calls = 0;              // of one
  std::uint64_t threads = 0;            // that were started in one
  std::uint64_t sleeping_threads = 0;   // of the allocator's own, that the skipped time went by
  std::uint64_t peak_live_bytes = 0;
  std::vector<double> own_shares;  // of each: of its time, what the replayer itself took
  double decoding_seconds = 0;     // of all: with the clock stopped
  LeftOut left_out;

  // That the calls of one took, without what the clock takes; of all threads together.
  double seconds_in_calls() const;
  // Medians, but for memory, which is the most.
  OwnCost own_cost() const;
};

struct ReplayComparison {
  ReplayPlan plan;
  Comparison comparison;
  std::vector<Replayed> replayed;  // by contender
  bool is_damaged = false;         // the trace, as far as it was read
  std::string recorded_on;         // the file that the recorded malloc lay in, by its canonical path; empty: not known
};

// Of one contender: if it is a component, on its own replayer.
ReplayPlan plan_for(const Allocator& allocator, ReplayPlan plan);

// Nobody is judged on calls that take less.
inline constexpr double kLeastSecondsInCalls = 0.05;

// Throws UserError if the trace cannot be read.
ReplayComparison compare_replays(const ReplayPlan& plan, const ComparisonPlan& comparison_plan);

}  // namespace snug::tool
