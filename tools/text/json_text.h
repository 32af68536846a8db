// json_text(): JSON as text. A byte that is not part of UTF-8, as in a file's name or in what a program has said, is
// replaced by U+FFFD.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace snug::tool {

// `indent`: spaces for each level; -1: all in one line.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace snug::tool
