#include "trace_command/stack_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "text/printable.h"
#include "text/user_error.h"
#include "trace/event.h"
#include "trace_command/pprof_profile.h"
#include "trace_command/stack_profile.h"
#include "trace_command/symbols.h"

namespace snug::tool {

namespace {

constexpr const char* kUnknown = "[unknown]";  // allocations without a stack

std::uint64_t value_of(const StackWeight& weight, StackMeasure measure) {
  switch (measure) {
    case StackMeasure::kBlocks:
      return weight.blocks;
    case StackMeasure::kLiveBytes:
      return weight.live_bytes;
    case StackMeasure::kLiveBlocks:
      return weight.live_blocks;
    default:
      return weight.bytes;
  }
}

// What separates functions, and lines.
std::string plain_name(const std::string& function) {
  std::string name = printable(function);
  std::ranges::replace(name, ';', ':');
  return name;
}

std::string collapsed(const std::vector<CallFrame>& frames, const Symbols& symbols) {
  std::string line;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::vector<Symbol>& functions = symbols.at(*frame);
    for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
      if (!line.empty()) line += ';';
      line += plain_name(function->function);
    }
  }
  return line.empty() ? kUnknown : line;
}

}  // namespace

// Stacks that differ by addresses alone are one.
void put_collapsed(TraceInput& input, StackMeasure measure, const Put& put) {
  const StackProfile profile(input);
  const bool has_stacks = std::ranges::any_of(profile.weights(), [](const auto& stack) { return stack.first != 0; });
  if (!has_stacks && !profile.weights().empty())
    throw UserError(fmt::format("'{}' has no stacks: record the program with snug record --stacks", input.path()));
  const Symbols symbols(profile.stacks(), perf_map_of(input, profile.stacks(), profile.duration()));
  std::map<std::string, std::uint64_t> lines;
  for (const auto& [stack, weight] : profile.weights())
    lines[collapsed(profile.stacks().frames_of(stack), symbols)] += value_of(weight, measure);
  for (const auto& [line, value] : lines)
    if (value != 0) put(fmt::format("{} {}\n", line, value));
}

void put_pprof(TraceInput& input, const Put& put) {
  const StackProfile profile(input);
  const Symbols symbols(profile.stacks(), perf_map_of(input, profile.stacks(), profile.duration()));
  PprofProfile out;
  // The first is taken for the program.
  const auto& modules = profile.stacks().modules();
  for (const bool is_program : {true, false})
    for (const auto& [number, module] : modules)
      if (is_program == (input.facts().find("program\t" + module.path + "\n") != std::string::npos))
        out.add_module(number, module);
  for (const auto& [stack, weight] : profile.weights()) {
    std::vector<std::uint64_t> locations;
    for (const CallFrame& frame : profile.stacks().frames_of(stack))
      locations.push_back(out.location(frame, symbols.at(frame)));
    out.add_sample(locations, weight);
  }
  put(out.finish(input.process().started, profile.duration() * trace::kNanosecondsPerStep));
}

}  // namespace snug::tool
