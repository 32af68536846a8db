// What a trace is of and what its events add up to, as text and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "input/trace_input.h"
#include "trace/sample_account.h"
#include "trace/trace_account.h"

namespace snug::tool {

struct TraceInfo {
  trace::TraceAccount account;
  std::vector<std::string> impossible;  // the first events that cannot be
  std::uint64_t with_stack;             // allocations with a known stack
  trace::SampleAccount samples;
};

// Reads the trace to its end.
TraceInfo read_info(TraceInput& input);

std::string info_text(const TraceInput& input, const TraceInfo& info);
nlohmann::ordered_json info_json(const TraceInput& input, const TraceInfo& info);

}  // namespace snug::tool
