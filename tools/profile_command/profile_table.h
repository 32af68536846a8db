// A heap profile for people, for programs, and for pictures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profile_command/heap_profile_file.h"

namespace snug::tool {

// The `most` stacks with most bytes of the measure, largest first; of a difference by how much they differ.
std::string profile_table(const HeapProfileFile& profile, ProfileMeasure measure, std::size_t most);
nlohmann::ordered_json profile_json(const HeapProfileFile& profile);
// A line "outermost;…;innermost bytes" for each stack, as flame graphs take it.
std::string collapsed_stacks(const HeapProfileFile& profile, ProfileMeasure measure);

}  // namespace snug::tool
