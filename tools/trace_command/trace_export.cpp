#include "trace_command/trace_export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "print/output_file.h"
#include "print/say.h"
#include "text/json_text.h"
#include "trace/sample_account.h"
#include "trace/trace_account.h"
#include "trace_command/event_text.h"
#include "trace_command/stack_export.h"
#include "trace_command/trace_output.h"

namespace snug::tool {

namespace {

using trace::BlockId;
using trace::Effect;
using trace::Event;
using trace::Operation;

// An event of a block that is not there would make the lines no trace; it is left out.
void put_lines(TraceInput& input, const Put& put) {
  trace::TraceAccount account;
  std::uint64_t left_out = 0;
  Event event;
  put("# a <TAB> key <TAB> bytes; f <TAB> key; r <TAB> old key <TAB> key <TAB> bytes\n");
  while (input.next(event)) {
    const auto key = [](BlockId block) { return static_cast<std::uint64_t>(block); };
    const bool is_known = !event.frees() || account.live().contains(event.block);
    const bool is_new = !event.allocates() || !account.live().contains(event.result);
    if (!is_known || !is_new) {
      ++left_out;
      continue;
    }
    account.add(event);
    if (event.effect() == Effect::kFinds)
      put(fmt::format("a\t{:x}\t{}\n", key(event.block), event.size));
    else if (event.allocates() && event.frees())
      put(fmt::format("r\t{:x}\t{:x}\t{}\n", key(event.block), key(event.result), event.size));
    else if (event.allocates())
      put(fmt::format("a\t{:x}\t{}\n", key(event.result), event.size));
    else if (event.frees())
      put(fmt::format("f\t{:x}\n", key(event.block)));
  }
  if (left_out != 0) say("snug: {} event(s) of blocks that are not there were left out\n", left_out);
}

void put_csv(TraceInput& input, const Put& put) {
  put("time_ns,turn,takes_turn,thread,operation,refused,block,result,size,alignment,stack,measure,value\n");
  Event event;
  while (input.next(event)) {
    const auto name = [](BlockId block) { return block == BlockId::kNone ? std::string() : block_name(block); };
    const std::string value = event.operation == Operation::kSample    ? fmt::format("{}", event.values[1])
                              : event.operation == Operation::kTouched ? fmt::format("{}", event.values[0])
                                                                       : "";
    put(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", event.time * trace::kNanosecondsPerStep, event.turn,
                    event.takes_turn ? 1 : 0, event.thread, trace::traits_of(event.operation).name,
                    event.is_refused ? 1 : 0, name(event.block), name(event.result), event.size, event.alignment,
                    event.stack, measured_by(event), value));
  }
}

// Counters of what lives, at most one in each stretch of kCounterSteps, and when threads begin and end: viewers of this
// format bear a million events, not a hundred.
constexpr std::uint64_t kCounterSteps = 1'000'000 / trace::kNanosecondsPerStep;

double microseconds(std::uint64_t time) { return seconds_of(time) * 1e6; }

class ChromeEvents {
 public:
  ChromeEvents(std::uint32_t process, const Put& put) : process_(process), put_(put) {}

  void put_counter(const char* name, std::uint64_t time, const nlohmann::ordered_json& values) {
    put({{"name", name}, {"ph", "C"}, {"ts", microseconds(time)}, {"pid", process_}, {"args", values}});
  }
  void put_thread(const char* phase, const Event& event) {
    put({{"name", "thread"},
         {"ph", phase},
         {"ts", microseconds(event.time)},
         {"pid", process_},
         {"tid", event.thread}});
  }

 private:
  void put(const nlohmann::ordered_json& event) {
    put_((is_first_ ? "\n" : ",\n") + json_text(event));
    is_first_ = false;
  }
  std::uint32_t process_;
  const Put& put_;
  bool is_first_ = true;
};

void put_chrome(TraceInput& input, const Put& put) {
  trace::TraceAccount account;
  ChromeEvents events(input.process().process, put);
  const auto put_live = [&](std::uint64_t time) {
    events.put_counter("live bytes", time, {{"bytes", account.live_bytes()}});
    events.put_counter("live blocks", time, {{"blocks", account.live_blocks()}});
  };
  put("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
  trace::SampleAccount samples;
  std::uint64_t next = 0;
  Event event;
  while (input.next(event)) {
    account.add(event);
    const std::uint64_t told = samples.mallinfo();
    samples.add(event);
    if (samples.mallinfo() != told)
      events.put_counter("allocator", event.time,
                         {{"used", trace::used_bytes(samples.last()).value_or(0)},
                          {"free", trace::free_bytes(samples.last()).value_or(0)}});
    if (event.operation == Operation::kThreadBegin) events.put_thread("B", event);
    if (event.operation == Operation::kThreadEnd) events.put_thread("E", event);
    if (event.operation == Operation::kSample &&
        event.values[0] == static_cast<std::uint64_t>(trace::Measure::kResident))
      events.put_counter("resident", event.time, {{"bytes", event.values[1]}});
    if (event.time < next) continue;
    put_live(event.time);
    next = event.time + kCounterSteps;
  }
  put_live(account.last_time());
  put("\n]}\n");
}

struct ExportFormat {
  const char* name;
  const char* loses;
  void (*put)(TraceInput& input, StackMeasure measure, const Put& put);
};

constexpr ExportFormat kFormats[] = {
    {"lines",
     "threads, turns, time, operations but malloc, free and realloc, alignments, failures, stacks, samples, what was "
     "touched",
     [](TraceInput& input, StackMeasure, const Put& put) { put_lines(input, put); }},
    {"csv", "fields of operations that name no block, but of samples; facts",
     [](TraceInput& input, StackMeasure, const Put& put) { put_csv(input, put); }},
    {"chrome",
     "blocks one by one (what lives is counted, each ms), turns, operations, stacks, mappings, what was touched",
     [](TraceInput& input, StackMeasure, const Put& put) { put_chrome(input, put); }},
    {"collapsed", "all but the stacks of allocations and one measure of each", put_collapsed},
    {"pprof", "all but the stacks of allocations and their sums",
     [](TraceInput& input, StackMeasure, const Put& put) { put_pprof(input, put); }},
};

struct NamedMeasure {
  const char* name;
  StackMeasure measure;
};

constexpr NamedMeasure kMeasures[] = {{"bytes", StackMeasure::kBytes},
                                      {"blocks", StackMeasure::kBlocks},
                                      {"live-bytes", StackMeasure::kLiveBytes},
                                      {"live-blocks", StackMeasure::kLiveBlocks}};

}  // namespace

std::vector<std::string> export_formats() {
  std::vector<std::string> names;
  for (const ExportFormat& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::vector<std::string> export_measures() {
  std::vector<std::string> names;
  for (const NamedMeasure& measure : kMeasures) names.emplace_back(measure.name);
  return names;
}

const char* export_help() {
  return R"(Formats, and what they lose:
  lines      for `snug classes fit`, which takes them from standard input: threads, time, operations but malloc, free, realloc
  csv        for spreadsheets and data frames, a line an event: what operations say that name no block, but samples
  chrome     for ui.perfetto.dev and chrome://tracing: single blocks; what lives is counted, each ms
  collapsed  for flame graphs (flamegraph.pl, speedscope), a line a stack: all but stacks and the measure that --weight names
  pprof      for pprof, by allocations and bytes, and those that live at the end: all but stacks

Both of the last want a trace of `snug record --stacks`. Names of functions come from llvm-symbolizer or addr2line.

Examples:
  snug trace export prog.trace --to lines | snug classes fit -
  snug trace export prog.trace --to collapsed --weight live-bytes | flamegraph.pl > leaks.svg
  snug trace export prog.trace --to collapsed --weight live-bytes --at peak | flamegraph.pl > peak.svg
  snug trace export prog.trace --to chrome -o prog.json)";
}

void export_trace(TraceInput& input, const std::string& format_name, const std::string& weight,
                  const std::string& path) {
  const ExportFormat* format = kFormats;
  while (format->name != format_name) ++format;  // the option's check knows them all, and the measures
  const NamedMeasure* measure = kMeasures;
  while (measure->name != weight) ++measure;
  if (!path.empty()) expect_other_file(input.path(), path);
  OutputFile file(path.empty() ? kStandardOutput : path);
  format->put(input, measure->measure, [&file](const std::string& text) { file.put(text); });
  file.finish();
  say("snug: {} loses: {}\n", format->name, format->loses);
}

}  // namespace snug::tool
