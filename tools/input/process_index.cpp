#include "input/process_index.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "text/printable.h"
#include "trace/trace_account.h"
#include "trace/trace_reader.h"

namespace snug::tool {

namespace {

constexpr std::size_t kMostShown = 60;  // bytes of a command
constexpr std::string_view kProcess = "process";
constexpr std::string_view kStarted = "started";
constexpr std::string_view kAllocations = "allocations";
constexpr std::string_view kAllocated = "allocated";
constexpr std::string_view kPeak = "peak";

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Whether the sums were told.
bool take_facts(const std::string& facts, TracedProcess& process) {
  int sums = 0;
  std::istringstream lines(facts);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    const std::string_view key = std::string_view(line).substr(0, tab);
    const auto value = number_of(tab == std::string::npos ? "" : std::string_view(line).substr(tab + 1));
    if (value && key == kProcess) {
      process.process = static_cast<std::uint32_t>(*value);
    } else if (value && key == kStarted) {
      process.started = *value;
    } else if (value && key == kAllocations) {
      process.allocations = *value;
      ++sums;
    } else if (value && key == kAllocated) {
      process.allocated_bytes = *value;
      ++sums;
    } else if (value && key == kPeak) {
      process.peak_bytes = *value;
      ++sums;
    } else {
      process.facts += line + "\n";
    }
  }
  return sums == 3;
}

// Damage is told where the process is read that was chosen.
void read_events(trace::Source& source, const trace::ChunkDirectory& chunks, TracedProcess& process) {
  trace::Damage damage;
  trace::TraceReader reader(source, chunks, damage);
  trace::TraceAccount account;
  process.allocations = process.allocated_bytes = 0;
  for (trace::Event event; reader.next(event);) {
    account.add(event);
    if (!event.allocates()) continue;
    ++process.allocations;
    process.allocated_bytes += weighed_size(event.size);
  }
  process.peak_bytes = account.peak_bytes();
}

TracedProcess read_process(const trace::ChunkDirectory& chunks, std::uint32_t number) {
  TracedProcess process{.number = number, .process = chunks.file().process, .started = chunks.file().started};
  for (const trace::IndexEntry& chunk : chunks.chunks()) {
    process.events += chunk.header.events;
    process.file_bytes += chunk.header.span;
  }
  return process;
}

bool is_called(const TracedProcess& process, const std::string& name) {
  const std::string arguments = process.fact("arguments").value_or("");
  const std::filesystem::path called = arguments.substr(0, arguments.find(' '));
  const std::filesystem::path program = process.fact("program").value_or("");
  return called == name || called.filename() == name || program == name || program.filename() == name;
}

bool allocates_less(const TracedProcess& a, const TracedProcess& b) { return a.allocated_bytes < b.allocated_bytes; }

}  // namespace

std::string command_text(const std::string& program, const std::string& arguments) {
  const std::string& whole = arguments.empty() ? program : arguments;
  const std::size_t folder = whole.rfind('/', whole.find(' '));
  const std::string command = folder == std::string::npos ? whole : whole.substr(folder + 1);
  return printable(command.size() <= kMostShown ? command : command.substr(0, kMostShown) + "...");
}

std::optional<std::string> TracedProcess::fact(std::string_view key) const {
  std::istringstream lines(facts);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key) && line.substr(key.size(), 1) == "\t") return line.substr(key.size() + 1);
  return std::nullopt;
}

ProcessIndex::ProcessIndex(trace::Source& source, const Directories& directories) {
  for (const auto& [number, chunks] : directories) {
    TracedProcess process = read_process(chunks, number);
    trace::Damage damage;
    const bool is_told = take_facts(trace::read_facts(source, chunks, damage), process);
    if (!is_told && directories.size() > 1) read_events(source, chunks, process);
    processes_.push_back(std::move(process));
  }
}

const TracedProcess& ProcessIndex::most() const { return *std::ranges::max_element(processes_, allocates_less); }

const TracedProcess* ProcessIndex::find(const std::string& choice) const {
  if (const auto number = number_of(choice)) {
    const auto found = std::ranges::find(processes_, *number, &TracedProcess::number);
    if (found != processes_.end()) return &*found;
  }
  const TracedProcess* most = nullptr;
  for (const TracedProcess& process : processes_)
    if (is_called(process, choice) && (most == nullptr || allocates_less(*most, process))) most = &process;
  return most;
}

}  // namespace snug::tool
