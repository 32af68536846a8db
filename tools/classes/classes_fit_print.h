// What fitting a map has brought: the fitted map's cost beside that of the maps it is compared with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "classes/classes_fit.h"
#include "classes/classes_trace.h"

namespace snug::tool {

struct PricedMap {
  ClassesMap map;
  MapCost cost;
};

// The fitted map first; with the trace, if the sizes were counted from one.
std::string fit_table(const FitTask& task, const std::optional<TraceSummary>& trace,
                      const std::vector<PricedMap>& maps);
nlohmann::ordered_json fit_json(const FitTask& task, const std::optional<TraceSummary>& trace,
                                const std::vector<PricedMap>& maps);

}  // namespace snug::tool
