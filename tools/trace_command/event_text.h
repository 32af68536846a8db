// An event in words: a line for people, JSON for programs. Blocks are written as thread:number.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace snug::tool {

std::string block_name(trace::BlockId block);
double seconds_of(std::uint64_t time);
// What a sample is a measure of, by its name; empty of another event, and of a measure that is not known.
std::string_view measured_by(const trace::Event& event);

std::string event_line(const trace::Event& event);
// `frames`: of its stack, innermost first, if they are wanted.
nlohmann::ordered_json event_json(const trace::Event& event, const std::vector<std::string>& frames);

}  // namespace snug::tool
