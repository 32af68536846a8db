// The page of a report: a template that the build has put into this program (page/), with the data in its place.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace snug::tool {

// Throws UserError if this tool was built without the template.
std::string report_page(const nlohmann::ordered_json& data);

// False if it was; the rest of the command does without.
bool has_report_page();

}  // namespace snug::tool
