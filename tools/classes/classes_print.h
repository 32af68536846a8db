// A size-class map in words: as a table, as the document that introduced Dense prints it, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "classes/classes_map.h"

namespace snug::tool {

std::string classes_table(const ClassesMap& map);

// Byte for byte the text under which Scudo's DenseSizeClassMap was proposed, a line a class. Its `id` is class_of as a
// faulty build computed it: the number of doublings above the middle stands still at 8. Needs a map of the family.
std::string compatible_text(const SizeClassParameters& map);

nlohmann::ordered_json classes_json(const ClassesMap& map);

}  // namespace snug::tool
