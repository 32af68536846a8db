// What fitting a map has brought: the fitted map's cost beside that of the maps it is compared with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "classes_fit.h"

namespace snug::tool {

struct PricedMap {
  ClassesMap map;
  MapCost cost;
};

// The fitted map first.
std::string fit_table(const FitTask& task, const std::vector<PricedMap>& maps);
nlohmann::ordered_json fit_json(const FitTask& task, const std::vector<PricedMap>& maps);

}  // namespace snug::tool
