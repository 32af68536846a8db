#include "trace_command/synth_command.h"

#include <fmt/format.h>

#include <cstdlib>

#include "print/output_file.h"
#include "text/number_within.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples =
    R"(The same options give the same trace, byte for byte with one version of zstd. Its facts have them.

Example:
  snug trace synth hummingbird -o hummingbird.trace)";

constexpr const char* kHummingbirdExamples =
    R"(In the manner of Hummingbird, a file system for caching web proxies, of which Bohra and Gabber (FREENIX 2001) tell: a few
fixed sizes of metadata below 128 bytes, Zipf's frequencies of the sizes of files' data above, clusters of 32 KiB as more
than half of all bytes, and one table that is the largest block. A request has four pieces of metadata (24, 32, 40, 56,
72 or 104 bytes), one block of data, and reads a cluster now and then. Each kind has a cache, which throws out the oldest
block, or one by chance, when it is full. One thread, malloc and free alone, an event each 64 ns.

Examples:
  snug trace synth hummingbird -o hummingbird.trace
  snug trace synth hummingbird --events 200000 --live 21740000 --table 3990000 --seed 2 -o small.trace)";

constexpr std::uint64_t kMostEvents = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

CLI::Option* add_bytes(CLI::App* command, const char* name, std::uint64_t& value, std::uint64_t least,
                       const char* what) {
  return command->add_option(name, value, what)
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->check(number_within(least, kMostBytes))
      ->capture_default_str()
      ->type_name("BYTES");
}

CLI::Option* add_share(CLI::App* command, const char* name, double& value, const char* what) {
  return command->add_option(name, value, what)->check(number_within(0.0, 1.0))->capture_default_str()->type_name("X");
}

std::string parameters_of(const Hummingbird& made) {
  return fmt::format("--events {} --live {} --table {} --clusters {} --metadata {} --reads {} --exponent {} --seed {}",
                     made.events, made.live, made.table, made.clusters, made.metadata, made.reads, made.exponent,
                     made.seed);
}

}  // namespace

SynthCommand::SynthCommand(CLI::App& trace)
    : command_(trace.add_subcommand("synth", "A trace that no program has made, of a profile")) {
  command_->footer(kExamples);
  command_->require_subcommand(1);
  add_hummingbird();
}

void SynthCommand::add_hummingbird() {
  CLI::App* const command = command_->add_subcommand("hummingbird", "A file system for caching web proxies");
  Hummingbird& made = hummingbird_;
  command->footer(kHummingbirdExamples);
  command->add_option("--events", made.events, "How many, about; the original had 58 million")
      ->check(number_within(std::uint64_t{1}, kMostEvents))
      ->capture_default_str()
      ->type_name("N");
  add_bytes(command, "--live", made.live, Hummingbird::kCluster, "What lives when the caches are full");
  add_bytes(command, "--table", made.table, 0, "The largest block, which lives from the start on; 0: none");
  add_share(command, "--clusters", made.clusters, "Of the live bytes, what is clusters");
  add_share(command, "--metadata", made.metadata, "Of the live bytes, what is metadata; data is what is left");
  add_share(command, "--reads", made.reads, "Of the requests, those that read a cluster");
  command->add_option("--exponent", made.exponent, "Of the frequencies of data's sizes")
      ->check(number_within(0.0, 10.0))
      ->capture_default_str()
      ->type_name("X");
  command->add_option("--seed", made.seed, "Another seed gives another trace of the same profile")
      ->check(number_within(std::uint64_t{0}, UINT64_MAX))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--level", level_, "Of zstd: 0 (no compression) to 19")
      ->check(number_within(0, 19))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("-o", output_, "The trace to write")->required()->type_name("FILE");
  command->add_flag("--json", json_, "Print what was written, as JSON");
}

int SynthCommand::execute() const {
  if (json_ && leads_to_output(output_)) throw both_on_standard_output();
  return synthesise_hummingbird();
}

int SynthCommand::synthesise_hummingbird() const {
  expect_possible(hummingbird_);
  TraceOutput output(output_, trace::TraceFileOptions{.level = level_});
  output.add_facts(fmt::format("synthesised\thummingbird\nparameters\t{}\n", parameters_of(hummingbird_)));
  SynthesisedBlocks blocks(output.trace());
  synthesise(hummingbird_, blocks);
  const WrittenTrace written = output.finish();
  if (json_) write_output(kStandardOutput, json_of(written));
  return EXIT_SUCCESS;
}

}  // namespace snug::tool
