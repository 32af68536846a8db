// A comparison as JSON, schema "snug.comparison/2": everything the table says, the host, and every single run.
//
// Of each allocator and metric: `against_snug`, the median of the rounds' costs as multiples of snug's, with its
// interval `low` to `high` (null of one round) and the `word` that they prove, null for snug itself; and `word`, the
// worst against all rivals. `noise`: the share of the processors that others took, half the ratios' interval in the
// median row of time, and whether that is too much to judge time.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compare/comparison.h"
#include "compare/host.h"

namespace snug::tool {

nlohmann::ordered_json comparison_json(const Comparison& comparison, const Host& host);

}  // namespace snug::tool
