// A comparison: one program run on several allocators in turn, every run with its costs and the allocator that served.
//
// The cast: a *contender* is an allocator in the comparison; a *round* runs each contender once, in an order of its
// own; a run *counts* if it succeeded and its allocator is proven to have served it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "library/allocator_catalogue.h"
#include "process/measured_process.h"
#include "process/program_report.h"
#include "process/served_proof.h"

namespace snug::tool {

struct ComparisonPlan {
  std::vector<std::string> program;
  std::vector<Allocator> allocators;  // snug first
  std::string snug_configuration;     // added to SNUG_CONF
  std::string input = "/dev/null";
  int rounds = 6;  // the fewest that allow a 95% interval
  int warmup_rounds = 1;
  std::uint64_t seed = 1;
  double time_limit = 0;  // seconds; 0: none
  std::uint64_t min_served = 1;
  bool show_output = false;
  bool output_to_errors = false;  // what is shown of the program's output: JSON is on the tool's own
  bool check_output = false;
};

struct Run {
  int round = 0;     // from 1; warm-up rounds are 0
  int position = 0;  // in its round, from 1
  Measurement measurement;
  std::uint64_t allocations = 0;  // the allocator's own count, over `processes`; 0 of those that keep none
  std::uint64_t processes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t output_hash = 0;
  std::vector<Figure> figures;
  std::string objection;   // why the run does not count; empty if it does
  std::string last_words;  // the last lines of standard error, if the program failed and they are not shown

  bool counts() const { return objection.empty(); }
};

struct Contender {
  Allocator allocator;
  bool counts_served = false;        // its library counts: its runs are proven by that, snug's and no less another's
  std::optional<Bindings> bindings;  // of the first warm-up round
  std::string refusal;               // why it is not run at all; empty if it is
  std::vector<Run> warmups;
  std::vector<Run> runs;

  std::vector<const Run*> counted() const;
};

struct Comparison {
  ComparisonPlan plan;
  std::vector<Contender> contenders;
  int interrupted_by = 0;                         // a signal, or 0
  std::string output_difference;                  // one sentence, or empty
  std::vector<std::string> refused_figures = {};  // a sentence for each that cannot be compared
  std::string no_verdict = {};                    // why nobody is judged, whatever the rounds prove; empty if all are
  // Of the machine's CPU time during the runs, what neither they nor the tool took; empty if it is not known.
  std::optional<double> others_share;
  // The program failed on every allocator in the first round, and was not tried again: what it said in one of the runs.
  std::optional<std::string> given_up;

  // Every run of every contender counts and all was done that was planned.
  bool clean() const;
};

struct RunPlace {
  int round = 0;     // from 1; warm-up rounds are 0
  int position = 0;  // in its round, from 1
  bool proves_bindings = false;
};

// Seconds since the run began, and how much of it is done, 0 to 1; 0 if that is not known.
using Advance = std::function<void(double elapsed, double share)>;

// Runs one contender once, and judges the run.
using RunOnce =
    std::function<Run(Contender& contender, const RunPlace& place, const HeldSignals& signals, const Advance& advance)>;

// Runs the plan. Throws UserError if the program cannot be executed at all.
Comparison compare(const ComparisonPlan& plan);
// The same, where a run is something else than one of the plan's program.
Comparison compare(const ComparisonPlan& plan, const RunOnce& run_once);

// The environment of a contender's run, which writes what proves it into `folder`: its count always, if its library has
// one, as that costs nothing; and what it binds if `place` asks for it.
void prepare_proof(const ComparisonPlan& plan, const Contender& contender, const RunPlace& place,
                   const std::filesystem::path& folder, Environment& environment);
// Reads it, into `run` and `contender`; and why the run does not count. `errors`: what the program said; empty if
// shown.
void judge(const ComparisonPlan& plan, const RunPlace& place, const std::filesystem::path& folder,
           const std::filesystem::path& errors, Contender& contender, Run& run);

}  // namespace snug::tool
