#include "trace_command/trace_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "input/moment.h"
#include "input/process_option.h"
#include "print/output_file.h"
#include "print/say.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace_command/call_stacks.h"
#include "trace_command/event_text.h"
#include "trace_command/process_table.h"
#include "trace_command/trace_anonymise.h"
#include "trace_command/trace_check.h"
#include "trace_command/trace_export.h"
#include "trace_command/trace_import.h"
#include "trace_command/trace_info.h"
#include "trace_command/trace_output.h"
#include "trace_command/trace_part.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples =
    R"(A trace says what a program asked of its allocator, event by event, of all threads, in one order. Block 3:17 is the
17th that thread 3 was given; no identity is used twice. What is damaged in a file is passed over with a line on
standard error, the rest is read, and the exit status is 3 then (of check 1).

A recording has a trace of each process: info lists them, check goes through all, and the others take the one that
allocates most, or the one of --process. What they write has one.

Examples:
  snug trace import heaptrack.prog.123.zst -o prog.trace
  snug trace info prog.trace                       what is it of, and what does it add up to?
  snug trace head -n 50 prog.trace
  snug trace cut prog.trace --from 2 --to 3.5 -o part.trace
  snug trace anonymise prog.trace -o gift.trace
  snug trace synth hummingbird -o hummingbird.trace
  snug trace export prog.trace --to lines | snug classes fit -)";

constexpr const char* kInfoExamples = R"(Exit status: 0; 3 if the file is damaged, or empty.

Examples:
  snug trace info prog.trace
  snug trace info prog.trace --process python3
  snug trace info prog.trace --json | jq .peak.bytes)";

constexpr const char* kCheckExamples =
    R"(Exit status: 0 all is well, 1 the file is damaged, or events cannot be (a block is freed twice, …), or some were lost.

Example:
  snug trace check prog.trace)";

constexpr const char* kHeadExamples =
    R"(A line has seconds, turn (* where the event took it), thread, operation, its fields, and the block that came.

Examples:
  snug trace head prog.trace -n 50 --stacks
  snug trace head prog.trace -n 1000000 --json | jq 'select(.size > 1000000)')";

constexpr const char* kCutExamples = R"(Blocks that live when the part begins are found there, by an event each.

Example:
  snug trace cut prog.trace --from 2 --to 3.5 -o part.trace
  snug trace cut prog.trace --at peak -o until.trace
      Until most bytes live at a time: what lives at its end lives then.)";

constexpr const char* kFilterExamples =
    R"(A block is kept with all events that name it, and with what a realloc makes of it. Left out with the blocks are
allocations that failed, and frees of null pointers.

Examples:
  snug trace filter prog.trace --most 1024 -o small.trace
  snug trace filter prog.trace --thread 3 --thread 4 -o two.trace)";

constexpr const char* kPackExamples =
    R"(A recorder that was killed leaves a file without an index, in part uncompressed. It can be read as it is.

Example:
  snug trace pack killed.trace --level 19 -o prog.trace)";

constexpr std::uint64_t kMostRound = std::uint64_t{1} << 30;

int printed(const std::string& text) {
  write_output(kStandardOutput, text);
  return EXIT_SUCCESS;
}

}  // namespace

TraceCommand::TraceCommand(CLI::App& app) {
  command_ = app.add_subcommand("trace",
                                "snug trace info|check|head|cut|filter|pack|anonymise|import|export FILE [options]\n"
                                "snug trace synth PROFILE [options]\n"
                                "Look at traces of allocations, take parts of them, turn them from and into others");
  command_->footer(kExamples);
  command_->require_subcommand(1);
  add_readers();
  add_makers();
  add_anonymise();
  synth_.emplace(*command_);
  add_converters();
}

CLI::App* TraceCommand::add(const char* name, const char* usage, const char* examples) {
  CLI::App* const command = command_->add_subcommand(name, usage);
  command->footer(examples);
  command->add_option("FILE", file_, "The trace")->required();
  return command;
}

CLI::App* TraceCommand::add_of_process(const char* name, const char* usage, const char* examples) {
  CLI::App* const command = add(name, usage, examples);
  add_process_option(*command, process_);
  return command;
}

void TraceCommand::take_output(CLI::App* command) {
  command->add_option("-o", output_, "The trace to write")->required()->type_name("FILE");
  command->add_flag("--json", json_, "Print what was written, as JSON");
}

void TraceCommand::add_readers() {
  CLI::App* const info = add_of_process("info", "What a trace is of, and what it adds up to", kInfoExamples);
  info->add_flag("--json", json_, "As JSON");
  add_moment_option(*info, at_, "Add up until this moment");
  add_of_process("check", "Is every event readable and possible?", kCheckExamples)
      ->add_flag("--json", json_, "As JSON");
  CLI::App* const head = add_of_process("head", "The first events", kHeadExamples);
  head->add_option("-n", count_, "How many")
      ->check(number_within(std::uint64_t{0}, UINT64_MAX))
      ->capture_default_str()
      ->type_name("N");
  add_moment_option(*head, at_, "The first events behind this moment");
  head->add_flag("--stacks", shows_stacks_, "With the stack of each allocation, a line a frame; of JSON: \"frames\"");
  head->add_flag("--json", json_, "As JSON, an object a line");
}

void TraceCommand::add_makers() {
  CLI::App* const cut = add_of_process("cut", "The part between two times", kCutExamples);
  cut->add_option("--from", from_, "Where it begins, from the trace's beginning; 0 unless given")
      ->check(moment_check())
      ->type_name("SECONDS|peak");
  auto* const to = cut->add_option("--to", to_, "Where it ends; the trace's end unless given")
                       ->check(moment_check())
                       ->type_name("SECONDS|peak");
  add_moment_option(*cut, to_, "The same as --to")->excludes(to);
  take_output(cut);
  CLI::App* const filter =
      add_of_process("filter", "Some of the blocks, with all that happens to them", kFilterExamples);
  add_moment_option(*filter, at_, "Nothing that comes behind this moment");
  filter->add_option("--thread", threads_, "Blocks that this thread allocated; may be given several times")
      ->check(number_within(std::uint32_t{0}, UINT32_MAX))
      ->type_name("N");
  filter->add_option("--least", least_, "Blocks of so many bytes at least")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->type_name("BYTES");
  filter->add_option("--most", most_, "Blocks of so many bytes at most")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->type_name("BYTES");
  take_output(filter);
  CLI::App* const pack = add_of_process("pack", "The same trace, compressed and with an index", kPackExamples);
  pack->add_option("--level", level_, "Of zstd: 0 (no compression) to 19")
      ->check(number_within(0, 19))
      ->capture_default_str()
      ->type_name("N");
  take_output(pack);
}

void TraceCommand::add_anonymise() {
  CLI::App* const anonymise = add_of_process("anonymise", "A trace that may be given away", anonymise_help());
  anonymise->add_option("--round", round_, "Raise sizes to multiples of so many bytes")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->check(number_within(std::uint64_t{1}, kMostRound))
      ->capture_default_str()
      ->type_name("BYTES");
  take_output(anonymise);
}

void TraceCommand::add_converters() {
  CLI::App* const import = add("import", "A trace out of another format", import_help());
  import->add_option("--from", format_, "The format; what the file begins with tells it unless given")
      ->check(CLI::IsMember(import_formats()))
      ->type_name("FORMAT");
  take_output(import);
  CLI::App* const other = add_of_process("export", "Another format out of a trace", export_help());
  other->add_option("--to", format_, "The format")
      ->required()
      ->check(CLI::IsMember(export_formats()))
      ->type_name("FORMAT");
  add_moment_option(*other, at_, "Nothing that comes behind this moment; what lives then is live at the end");
  weight_option_ = other->add_option("--weight", weight_, "What a stack's number is, of collapsed stacks");
  weight_option_->check(CLI::IsMember(export_measures()))->capture_default_str()->type_name("MEASURE");
  other->add_option("-o", output_, "The file to write; standard output unless given")->type_name("FILE");
}

int TraceCommand::execute() const {
  const std::string name = command_->get_subcommands().front()->get_name();
  if (json_ && leads_to_output(output_)) throw both_on_standard_output();
  if (name == "info") return info();
  if (name == "check") return check();
  if (name == "head") return head();
  if (name == "cut") return cut();
  if (name == "filter") return filter();
  if (name == "pack") return pack();
  if (name == "anonymise") return anonymise();
  if (name == "synth") return synth_->execute();
  return name == "import" ? import() : export_trace();
}

// Of a command that has gone well but for what was damaged, which is told.
int TraceCommand::read(const TraceInput& input, int status) {
  return status == EXIT_SUCCESS && input.is_damaged() ? kExitDamaged : status;
}

// On standard error it is told in any case.
int TraceCommand::wrote(const WrittenTrace& written) const { return printed(json_ ? json_of(written) : ""); }

void TraceCommand::end_at_moment(TraceInput& input) const {
  if (!at_.empty()) input.end_at(moment_of(at_, input));
}

int TraceCommand::info() const {
  TraceInput input(file_, Telling::kAll, process_);
  end_at_moment(input);
  const TraceInfo info = read_info(input);
  if (!json_) return read(input, printed(process_table(input) + info_text(input, info)));
  nlohmann::ordered_json json = info_json(input, info);
  if (input.index().processes().size() > 1) {
    json["number"] = input.process().number;
    json["most"] = input.index().most().number;
    json["processes"] = processes_json(input.index());
  }
  return read(input, printed(json_text(json, 2) + "\n"));
}

// Of a recording all processes are checked, unless one is asked for. A file that is empty, or cut within its header, is
// damaged like any other, for which check has a status of its own.
int TraceCommand::check() const {
  std::optional<TraceInput> opened;
  try {
    opened.emplace(file_, process_.empty() ? Telling::kDamage : Telling::kAll, process_);
  } catch (const UserError& error) {
    throw UserError(error.what(), error.exit_status() == kExitDamaged ? EXIT_FAILURE : error.exit_status());
  }
  TraceInput& input = *opened;
  TraceCheck check;
  if (!process_.empty() || input.index().processes().size() == 1) {
    check.add(input, "");
  } else {
    for (const TracedProcess& process : input.index().processes()) {
      input.choose(process);
      check.add(input, fmt::format("number {}: ", process.number));
    }
  }
  const int status = printed(json_ ? json_text(check.json(), 2) + "\n" : check.text());
  return check.is_well() ? status : EXIT_FAILURE;
}

int TraceCommand::head() const {
  TraceInput input(file_, Telling::kAll, process_);
  CallStacks stacks;
  trace::Event event;
  const TraceMoment begin = at_.empty() ? TraceMoment{.events = 0} : moment_of(at_, input);
  bool has_begun = false;
  OutputFile output(kStandardOutput);
  // What cannot be written ends it: there may be 10^9 more.
  for (std::uint64_t i = 0, place = 0; i < count_ && std::ferror(output.stream()) == 0 && input.next(event); ++place) {
    // Definitions would be most of what is shown.
    stacks.add(event);
    has_begun = has_begun || begin.is_before(event, place);
    if (!has_begun) continue;
    if (shows_stacks_ && is_definition(event)) continue;
    std::vector<std::string> frames;
    if (shows_stacks_)
      for (const CallFrame& frame : stacks.frames_of(event.stack)) frames.push_back(stacks.place_of(frame));
    output.put((json_ ? json_text(event_json(event, frames)) : event_line(event)) + "\n");
    if (!json_)
      for (const std::string& frame : frames) output.put(fmt::format("{:>28}at {}\n", "", frame));
    ++i;
  }
  output.finish();
  return read(input, EXIT_SUCCESS);
}

int TraceCommand::cut() const {
  TraceInput input(file_, Telling::kAll, process_);
  const TraceMoment from = from_.empty() ? TraceMoment{.time = 0} : moment_of(from_, input);
  const TraceMoment to = to_.empty() ? TraceMoment() : to_ == from_ ? from : moment_of(to_, input);
  if (from.time >= to.time && from.events >= to.events) throw UserError("--from is not before --to");
  TraceOutput output(output_, input);
  cut_trace(input, output, from, to);
  return read(input, wrote(output.finish()));
}

int TraceCommand::filter() const {
  if (least_ > most_) throw UserError("--least is more than --most");
  TraceInput input(file_, Telling::kAll, process_);
  end_at_moment(input);
  TraceOutput output(output_, input);
  const std::uint64_t kept =
      filter_trace(input, output, {.threads = {threads_.begin(), threads_.end()}, .least = least_, .most = most_});
  if (kept == 0) say("snug: {}: no block is as asked for: none is kept\n", printable(input.path()));
  return read(input, wrote(output.finish()));
}

int TraceCommand::pack() const {
  TraceInput input(file_, Telling::kAll, process_);
  TraceOutput output(output_, input, {.level = level_});
  trace::Event event;
  while (input.next(event)) output.add(event);
  return read(input, wrote(output.finish()));
}

int TraceCommand::anonymise() const {
  TraceInput input(file_, Telling::kAll, process_);
  expect_other_file(input.path(), output_);
  TraceOutput output(output_, trace::TraceFileOptions{.chunk_flags = input.chunk_flags()});
  return read(input, wrote(anonymise_trace(input, output, round_)));
}

int TraceCommand::import() const { return wrote(import_trace(file_, format_, output_)); }

int TraceCommand::export_trace() const {
  if (weight_option_->count() != 0 && format_ != "collapsed")
    throw UserError(fmt::format("--weight is of --to collapsed, not of {}", format_));
  TraceInput input(file_, Telling::kAll, process_);
  end_at_moment(input);
  tool::export_trace(input, format_, weight_, output_);
  return read(input, EXIT_SUCCESS);
}

}  // namespace snug::tool
