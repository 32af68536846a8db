#include "trace_command/trace_info.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <sstream>

#include "print/quantity.h"
#include "print/table.h"
#include "text/printable.h"
#include "trace_command/event_text.h"

namespace snug::tool {

namespace {

constexpr std::size_t kMostImpossible = 10;

std::string count(std::uint64_t value) { return value_text(static_cast<double>(value), kCount); }
std::string bytes(std::uint64_t value) { return value_text(static_cast<double>(value), kBytes); }

// Of all events that the file has, of which the account may have those until some moment.
double per_event(std::uint64_t bytes, const TraceInput& input, const trace::TraceAccount& account) {
  const std::uint64_t events = std::max(input.told_events(), account.events());
  return events == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(events);
}

std::uint64_t came(const trace::TraceAccount& account) {
  std::uint64_t blocks = 0;
  for (std::size_t code = 1; code < trace::kOperations; ++code) {
    const auto operation = static_cast<trace::Operation>(code);
    const trace::Effect effect = trace::traits_of(operation).effect;
    if (effect == trace::Effect::kAllocates || effect == trace::Effect::kReallocates)
      blocks += account.count_of(operation);
  }
  return blocks - account.refused();
}

std::string began(std::uint64_t nanoseconds) {
  const auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

// What the program's memory was, as far as anybody looked.
std::string samples_text(const trace::SampleAccount& samples) {
  std::string text;
  if (samples.resident() != 0)
    text += fmt::format("memory  at most {} resident, in {} samples\n", bytes(samples.most_resident()),
                        count(samples.resident()));
  if (samples.mallinfo() != 0)
    text += fmt::format("heap    at most {} in use and {} free, the allocator said, in {} samples\n",
                        bytes(samples.most_used()), bytes(samples.most_free()), count(samples.mallinfo()));
  return text;
}

nlohmann::ordered_json samples_json(const trace::SampleAccount& samples) {
  auto last = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < trace::kMallinfoFields; ++i)
    if (samples.last()[i]) last[std::string(trace::kMallinfoNames[i])] = *samples.last()[i];
  return {{"resident", {{"count", samples.resident()}, {"most_bytes", samples.most_resident()}}},
          {"mallinfo2",
           {{"count", samples.mallinfo()},
            {"most_used_bytes", samples.most_used()},
            {"most_free_bytes", samples.most_free()},
            {"last", last}}}};
}

}  // namespace

TraceInfo read_info(TraceInput& input) {
  const auto impossible = std::make_shared<std::vector<std::string>>();
  trace::TraceAccount account([impossible](const trace::Event& event, const std::string& what) {
    if (impossible->size() < kMostImpossible) impossible->push_back(event_line(event) + ": " + what);
  });
  trace::Event event;
  std::uint64_t with_stack = 0;
  trace::SampleAccount samples;
  while (input.next(event)) {
    account.add(event);
    samples.add(event);
    if (event.stack != 0) ++with_stack;
  }
  return {std::move(account), *impossible, with_stack, samples};
}

std::string info_text(const TraceInput& input, const TraceInfo& info) {
  const trace::TraceAccount& account = info.account;
  std::string text = fmt::format("{}: {} of events, process {}, began {}\n", printable(input.path()),
                                 value_text(seconds_of(account.last_time()), kSeconds), input.process().process,
                                 began(input.process().started));
  std::istringstream facts(input.facts());
  for (std::string line; std::getline(facts, line);) {
    const std::size_t tab = line.find('\t');
    text += fmt::format("  {}: {}\n", printable(line.substr(0, tab)),
                        tab == std::string::npos ? "" : printable(line.substr(tab + 1)));
  }
  text += fmt::format("events  {} of {} thread(s); {:.2f} bytes each in the file, {:.2f} before compression\n",
                      count(account.events()), account.threads(), per_event(input.bytes(), input, account),
                      per_event(input.plain_bytes(), input, account));
  text += fmt::format("blocks  {} came, {} refused, {} freed by another thread, {} live at the end with {}\n",
                      count(came(account)), count(account.refused()), count(account.freed_by_others()),
                      count(account.live_blocks()), bytes(account.live_bytes()));
  text += fmt::format("peak    {} in {} blocks, {} after the beginning\n", bytes(account.peak_bytes()),
                      count(account.peak_blocks()), value_text(seconds_of(account.peak_time()), kSeconds));
  text += samples_text(info.samples);
  if (account.count_of(trace::Operation::kFrame) != 0)
    text += fmt::format("stacks  {} frames in {} modules; of {} allocations they are known\n",
                        count(account.count_of(trace::Operation::kFrame)), account.count_of(trace::Operation::kModule),
                        count(info.with_stack));
  const std::size_t open = input.reader().open_chunks();
  text += fmt::format("file    {}, {} chunks{}{}\n", bytes(input.bytes()), input.reader().chunks(),
                      input.directory().has_index() ? "" : ", without an index",
                      open == 0 ? "" : fmt::format(", {} never finished: the recorder was killed, or is at it", open));
  if (account.lost() != 0) text += fmt::format("lost    {} events, the recorder says\n", count(account.lost()));
  if (account.faults() != 0)
    text += fmt::format("wrong   {} event(s) cannot be; snug trace check tells\n", account.faults());
  Table table({"operation", "events", "bytes"});
  for (std::size_t code = 1; code < trace::kOperations; ++code) {
    const auto operation = static_cast<trace::Operation>(code);
    if (account.count_of(operation) == 0) continue;
    table.add_row({std::string(trace::traits_of(operation).name), count(account.count_of(operation)),
                   account.bytes_of(operation) == 0 ? "" : bytes(account.bytes_of(operation))});
  }
  return text + "\n" + table.text();
}

nlohmann::ordered_json info_json(const TraceInput& input, const TraceInfo& info) {
  const trace::TraceAccount& account = info.account;
  auto facts = nlohmann::ordered_json::array();
  std::istringstream lines(input.facts());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    facts.push_back({{"key", line.substr(0, tab)}, {"value", tab == std::string::npos ? "" : line.substr(tab + 1)}});
  }
  auto operations = nlohmann::ordered_json::object();
  for (std::size_t code = 1; code < trace::kOperations; ++code) {
    const auto operation = static_cast<trace::Operation>(code);
    if (account.count_of(operation) == 0) continue;
    operations[std::string(trace::traits_of(operation).name)] = {{"events", account.count_of(operation)},
                                                                 {"bytes", account.bytes_of(operation)}};
  }
  return {{"file", input.path()},
          {"process", input.process().process},
          {"started_ns", input.process().started},
          {"duration_ns", account.last_time() * trace::kNanosecondsPerStep},
          {"facts", facts},
          {"events", account.events()},
          {"threads", account.threads()},
          {"file_bytes", input.bytes()},
          {"plain_bytes", input.plain_bytes()},
          {"chunks", input.reader().chunks()},
          {"has_index", input.directory().has_index()},
          {"open_chunks", input.reader().open_chunks()},
          {"damaged_chunks", input.damage().damaged_chunks()},
          {"missing_chunks", input.damage().missing_chunks()},
          {"lost_events", account.lost()},
          {"impossible_events", account.faults()},
          {"turns_taken", account.turns()},
          {"blocks",
           {{"came", came(account)},
            {"refused", account.refused()},
            {"freed_by_others", account.freed_by_others()},
            {"live_at_end", account.live_blocks()},
            {"bytes_at_end", account.live_bytes()}}},
          {"stacks",
           {{"frames", account.count_of(trace::Operation::kFrame)},
            {"modules", account.count_of(trace::Operation::kModule)},
            {"allocations", info.with_stack}}},
          {"peak",
           {{"bytes", account.peak_bytes()},
            {"blocks", account.peak_blocks()},
            {"time_ns", account.peak_time() * trace::kNanosecondsPerStep}}},
          {"samples", samples_json(info.samples)},
          {"operations", operations}};
}

}  // namespace snug::tool
