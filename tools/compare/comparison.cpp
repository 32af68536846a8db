#include "compare/comparison.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "compare/processor_time.h"
#include "compare/progress.h"
#include "compare/round_order.h"
#include "compare/unified_figures.h"
#include "process/program_report.h"
#include "process/temporary_folder.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

namespace fs = std::filesystem;

struct OutputDigest {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: outputs are compared by accident, not by an adversary
};

OutputDigest digest(const fs::path& file) {
  OutputDigest result;
  std::ifstream stream(file, std::ios::binary);
  char buffer[1 << 15];
  while (stream.read(buffer, sizeof buffer), stream.gcount() > 0) {
    result.bytes += static_cast<std::uint64_t>(stream.gcount());
    for (std::streamsize i = 0; i < stream.gcount(); ++i) {
      result.hash = (result.hash ^ static_cast<unsigned char>(buffer[i])) * 0x100000001b3;
    }
  }
  return result;
}

Command command_for(const ComparisonPlan& plan, const Contender& contender, const fs::path& folder) {
  Command command{.arguments = plan.program,
                  .environment = Environment::current(),
                  .input = plan.input,
                  .output = {},
                  .errors = {},
                  .group = ProcessGroup::kOwn,
                  .huge_pages = contender.allocator.huge_pages};
  if (plan.check_output) {
    command.output = folder / "output";
  } else if (!plan.show_output) {
    command.output = "/dev/null";
  } else {
    command.output_to_errors = plan.output_to_errors;
  }
  if (!plan.show_output) command.errors = folder / "errors";
  return command;
}

Run run_program(const ComparisonPlan& plan, Contender& contender, const RunPlace& place, const HeldSignals& signals,
                const Advance& advance) {
  const TemporaryFolder folder;
  const fs::path figures = folder.path() / "figures";
  Command command = command_for(plan, contender, folder.path());
  command.environment.set("SNUG_FIGURES", figures);
  prepare_proof(plan, contender, place, folder.path(), command.environment);

  Run run;
  run.measurement = measure(command, signals, plan.time_limit, [&](pid_t, double elapsed) { advance(elapsed, 0); });
  run.figures = read_figures(figures);
  if (plan.check_output) {
    const OutputDigest output = digest(command.output);
    run.output_bytes = output.bytes;
    run.output_hash = output.hash;
  }
  judge(plan, place, folder.path(), command.errors, contender, run);
  return run;
}

std::string objection(const ComparisonPlan& plan, const Contender& contender, const Run& run, const fs::path& errors) {
  if (!run.measurement.succeeded()) {
    const std::string said = errors.empty() ? "" : last_line(errors);
    return run.measurement.ending_text() + (said.empty() ? "" : ": " + said);
  }
  // What is called snug has to count: a library of another kind, or of another time, is not taken for it.
  const bool has_to_count = contender.counts_served || contender.allocator.is_snug;
  if (has_to_count && run.allocations < plan.min_served) {
    return fmt::format("not run on {}: it proved {} allocations in {} processes, at least {} are asked for ({})",
                       contender.allocator.name, run.allocations, run.processes, plan.min_served,
                       !contender.counts_served ? "its library does not know the setting 'served'"
                       : run.processes != 0     ? "it may allocate nothing"
                                            : "a static program, or one that ends by _exit or a signal, proves none");
  }
  if (contender.bindings && !contender.bindings->proven() && !has_to_count) {
    return fmt::format("not run on {}: {}", contender.allocator.name, contender.bindings->text());
  }
  return nonsense_among(run.figures);
}

// Asks each allocator's library whether it works and what it is, before any time is spent on runs.
std::vector<Contender> prepare(const ComparisonPlan& plan, const HeldSignals& signals) {
  std::vector<Contender> contenders;
  for (const Allocator& allocator : plan.allocators) {
    Contender contender;
    contender.allocator = allocator;
    const Identity identity = identify(allocator, signals);
    contender.counts_served = identity.counts_served;
    if (!allocator.is_component) contender.allocator.version = identity.version;
    if (identity.malloc_library != allocator.library) {
      contender.refusal =
          fmt::format("not run on {}: preloaded, it leaves malloc to {}", allocator.name, identity.malloc_library);
    }
    contenders.push_back(std::move(contender));
  }
  return contenders;
}

// All counted runs must have written the same; the first one of all sets the standard.
std::string find_output_difference(const std::vector<Contender>& contenders) {
  const Run* standard = nullptr;
  std::string standard_name;
  for (const Contender& contender : contenders) {
    for (const Run* run : contender.counted()) {
      if (standard == nullptr) {
        standard = run;
        standard_name = contender.allocator.name;
      } else if (run->output_hash != standard->output_hash || run->output_bytes != standard->output_bytes) {
        return fmt::format(
            "output differs: {} wrote {} bytes (hash {:016x}) in round {}, {} {} bytes (hash {:016x}) "
            "in round {}",
            standard_name, standard->output_bytes, standard->output_hash, standard->round, contender.allocator.name,
            run->output_bytes, run->output_hash, run->round);
      }
    }
  }
  return {};
}

void run_rounds(Comparison& comparison, const RunOnce& run_once, const HeldSignals& signals) {
  const ComparisonPlan& plan = comparison.plan;
  std::vector<std::string> names;
  std::vector<Contender*> admitted;
  for (Contender& contender : comparison.contenders) {
    if (!contender.refusal.empty()) continue;
    names.push_back(contender.allocator.name);
    admitted.push_back(&contender);
  }
  Progress progress(names, plan.warmup_rounds + plan.rounds);
  RoundOrder order(names.size(), plan.seed);

  const int first_round = 1 - plan.warmup_rounds;
  for (int round = first_round; round <= plan.rounds; ++round) {
    const bool warmup = round <= 0;
    // The dynamic linker is a witness for all, in the first warm-up, as its testimony costs time. Those that count what
    // they serve do so in every run.
    const bool prove_bindings = round == first_round && warmup && can_request_bindings();
    int position = 0;
    bool somebody_succeeded = names.empty();
    std::string last_words;
    for (const std::size_t index : order.next(round)) {
      Contender& contender = *admitted[index];
      progress.begin(names[index], warmup ? 0 : round);
      const RunPlace place = {.round = warmup ? 0 : round, .position = ++position, .proves_bindings = prove_bindings};
      Run run =
          run_once(contender, place, signals, [&](double elapsed, double share) { progress.tick(elapsed, share); });
      run.round = place.round;
      run.position = place.position;
      const Measurement& cost = run.measurement;
      progress.end(cost.wall_seconds, run.counts() ? fmt::format("{:.3f} s", cost.wall_seconds) : run.objection);
      if (cost.ending == Ending::kInterrupted) {
        comparison.interrupted_by = cost.code;
        return;
      }
      somebody_succeeded = somebody_succeeded || cost.succeeded();
      last_words = run.last_words;
      (warmup ? contender.warmups : contender.runs).push_back(std::move(run));
    }
    if (round == first_round && !somebody_succeeded) {
      comparison.given_up = last_words;
      return;
    }
  }
}

}  // namespace

std::vector<const Run*> Contender::counted() const {
  std::vector<const Run*> result;
  for (const Run& run : runs) {
    if (run.counts()) result.push_back(&run);
  }
  return result;
}

bool Comparison::clean() const {
  return interrupted_by == 0 && output_difference.empty() && refused_figures.empty() &&
         std::all_of(contenders.begin(), contenders.end(), [&](const Contender& contender) {
           return contender.counted().size() == static_cast<std::size_t>(plan.rounds) &&
                  std::all_of(contender.warmups.begin(), contender.warmups.end(),
                              [](const Run& run) { return run.counts(); });
         });
}

void prepare_proof(const ComparisonPlan& plan, const Contender& contender, const RunPlace& place,
                   const fs::path& folder, Environment& environment) {
  environment.preload(contender.allocator.library);
  if (contender.allocator.is_snug && !plan.snug_configuration.empty())
    environment.configure_snug(plan.snug_configuration);
  if (contender.counts_served) request_count(environment, folder);
  if (place.proves_bindings) request_bindings(environment, folder);
}

void judge(const ComparisonPlan& plan, const RunPlace& place, const fs::path& folder, const fs::path& errors,
           Contender& contender, Run& run) {
  const Served served = count_served(folder);
  run.allocations = served.allocations;
  run.processes = served.processes;
  if (place.proves_bindings) contender.bindings = read_bindings(folder, contender.allocator.library);
  run.objection = objection(plan, contender, run, errors);
  if (!run.measurement.succeeded() && !errors.empty()) run.last_words = last_lines(errors);
}

Comparison compare(const ComparisonPlan& plan) {
  return compare(plan, [&](Contender& contender, const RunPlace& place, const HeldSignals& signals,
                           const Advance& advance) { return run_program(plan, contender, place, signals, advance); });
}

Comparison compare(const ComparisonPlan& plan, const RunOnce& run_once) {
  const HeldSignals signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
  Comparison comparison{.plan = plan,
                        .contenders = prepare(plan, signals),
                        .interrupted_by = 0,
                        .output_difference = {},
                        .refused_figures = {},
                        .no_verdict = {},
                        .others_share = {},
                        .given_up = {}};
  const ProcessorTime before = processor_time_now();
  run_rounds(comparison, run_once, signals);
  comparison.others_share = others_share(before, processor_time_now());
  unify_figures(comparison);
  if (plan.check_output) comparison.output_difference = find_output_difference(comparison.contenders);
  return comparison;
}

}  // namespace snug::tool
