// What would change: the recording replayed once on snug and on other allocators, and what they had in memory
// meanwhile.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "input/trace_input.h"
#include "library/allocator_catalogue.h"

namespace snug::tool {

struct WhatIfPlan {
  std::vector<Allocator> allocators;  // snug first
  bool as_recorded = false;           // calls come no earlier than they were recorded
};

// The part `what_if` of the page's data, and `map` if the replay on snug has made one. Throws UserError if the trace
// cannot be replayed.
struct WhatIf {
  nlohmann::ordered_json table;
  nlohmann::ordered_json map;
  int interrupted_by = 0;  // a signal; nothing else is of use then
};
WhatIf replay_for_report(const TraceInput& input, const WhatIfPlan& plan);

}  // namespace snug::tool
