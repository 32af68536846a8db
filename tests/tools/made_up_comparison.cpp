// A comparison that never ran, from the description on standard input, as the table or the JSON that `snug run
// --compare` would give of it:
//
//     made_up_comparison table WIDTH < description      made_up_comparison json < description
//
//     {"program": ["job"], "others_share": 0.02, "allocators": [
//       {"name": "snug", "version": "0.1.0", "objections": [null, "exit status 3"],
//        "measured": {"wall_seconds": [1.2, 1.3], "peak_rss_bytes": [1000000, 1000000]},
//        "figures": {"load": {"unit": "op/s", "better": "higher", "values": [9, 8]}}}]}
//
// Values stand by round. What is not described is 0; a null figure was not written in that round.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "compare/comparison_json.h"
#include "compare/comparison_table.h"
#include "compare/unified_figures.h"

namespace {

using namespace snug::tool;
using Json = nlohmann::ordered_json;

Measurement measurement(const Json& measured, std::size_t round) {
  const auto value = [&](const char* key) { return measured.contains(key) ? measured[key][round].get<double>() : 0; };
  const auto count = [&](const char* key) { return static_cast<std::uint64_t>(value(key)); };
  Measurement result;
  result.wall_seconds = value("wall_seconds");
  result.user_seconds = value("user_seconds");
  result.system_seconds = value("system_seconds");
  result.peak_rss_bytes = count("peak_rss_bytes");
  result.minor_faults = count("minor_faults");
  result.major_faults = count("major_faults");
  return result;
}

Run run_of(const Json& allocator, std::size_t round) {
  Run run;
  run.round = static_cast<int>(round) + 1;
  run.measurement = measurement(allocator.value("measured", Json::object()), round);
  run.allocations = 1240000;
  run.processes = 1;
  const Json objections = allocator.value("objections", Json::array());
  if (round < objections.size() && !objections[round].is_null()) run.objection = objections[round];
  const Json figures = allocator.value("figures", Json::object());
  for (const auto& [name, figure] : figures.items()) {
    const Json& value = figure["values"][round];
    if (!value.is_null()) run.figures.push_back({name, value, figure["unit"], figure["better"] == "higher"});
  }
  return run;
}

Contender contender_of(const Json& allocator, int rounds) {
  Contender contender;
  contender.allocator.name = allocator["name"];
  contender.allocator.is_snug = contender.allocator.name == "snug" || contender.allocator.name == "snug-nothp";
  contender.counts_served = contender.allocator.is_snug;
  contender.allocator.version = allocator.value("version", "1.0");
  contender.refusal = allocator.value("refusal", "");
  contender.bindings = Bindings{.programs = 2, .bound = 2, .other = ""};
  for (int round = 0; round < rounds && contender.refusal.empty(); ++round) {
    contender.runs.push_back(run_of(allocator, static_cast<std::size_t>(round)));
  }
  return contender;
}

}  // namespace

int main(int argc, char** argv) {
  const Json description = Json::parse(std::cin);
  Comparison comparison;
  comparison.plan.program = description["program"];
  comparison.plan.rounds = description.value("rounds", 6);
  if (description.contains("others_share")) comparison.others_share = description["others_share"].get<double>();
  for (const Json& allocator : description["allocators"]) {
    comparison.contenders.push_back(contender_of(allocator, comparison.plan.rounds));
  }
  unify_figures(comparison);
  if (argc == 3 && argv[1] == std::string("table")) {
    std::cout << comparison_table(comparison, std::stoul(argv[2]));
  } else if (argc == 2 && argv[1] == std::string("json")) {
    std::cout << comparison_json(comparison, Host{}).dump(2) << '\n';
  } else {
    std::cerr << "usage: made_up_comparison table WIDTH | json\n";
    return 2;
  }
}
