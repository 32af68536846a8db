// A comparison as JSON, schema "snug.comparison/1": everything the table says, the host, and every single run.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "comparison.h"
#include "host.h"

namespace snug::tool {

nlohmann::ordered_json comparison_json(const Comparison& comparison, const Host& host);

}  // namespace snug::tool
