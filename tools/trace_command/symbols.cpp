#include "trace_command/symbols.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "library/build_id.h"
#include "print/say.h"
#include "text/printable.h"
#include "trace_command/symbolizer.h"

namespace snug::tool {

namespace {

// Empty if the file is the one that was recorded. What reads names out of a file is not made for files that mean ill:
// none is read only because a trace names it.
std::string difference(const std::string& path, const std::string& build_id) {
  std::error_code error;
  if (build_id.empty()) return "its build-id is not known";
  if (!path.starts_with('/')) return "is no absolute path";
  if (!std::filesystem::is_regular_file(path, error)) return "is not there";
  return build_id_of(path) == build_id ? "" : "is another build by now";
}

// "FILE:LINE", of which LINE may be "?", and more may follow.
void take_source(const std::string& text, Symbol& symbol) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.starts_with('?')) return;
  symbol.file = text.substr(0, colon);
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), symbol.line);
}

// As a map for perf has it: Python's are "py::FUNCTION:FILE".
Symbol symbol_of(const std::string& name) {
  const std::size_t colon = name.starts_with(kPython) ? name.find(':', kPython.size()) : std::string::npos;
  if (colon == std::string::npos) return {.function = name, .file = {}};
  return {.function = name.substr(0, colon), .file = name.substr(colon + 1)};
}

}  // namespace

bool is_recorded_file(const std::string& path, const std::string& build_id) {
  return difference(path, build_id).empty();
}

Symbols::Symbols(const CallStacks& stacks, const PerfMap& map) {
  std::map<std::uint64_t, std::set<std::uint64_t>> addresses;
  for (const auto& [stack, frame] : stacks.frames()) {
    addresses[frame.module].insert(frame.address);
    symbols_[{frame.module, frame.address}];
  }
  for (const auto& [number, module] : stacks.modules()) {
    const auto asked = addresses.find(number);
    if (asked == addresses.end()) continue;
    std::string fault = difference(module.path, module.build_id);
    std::istringstream answers;
    if (fault.empty()) answers.str(symbolize(module.path, {asked->second.begin(), asked->second.end()}, fault));
    if (!fault.empty()) say("snug: no names of '{}': {}\n", printable(module.path), fault);
    std::vector<Symbol>* into = nullptr;
    for (std::string line; std::getline(answers, line);) {
      if (line.starts_with("0x")) {
        std::uint64_t address = 0;
        std::from_chars(line.data() + 2, line.data() + line.size(), address, 16);
        const auto place = symbols_.find({number, address});
        into = place != symbols_.end() && place->second.empty() ? &place->second : nullptr;
        continue;
      }
      Symbol symbol = {.function = line, .file = {}};
      if (std::getline(answers, line)) take_source(line, symbol);
      if (into != nullptr && symbol.function != "??") into->push_back(symbol);
    }
  }
  for (auto& [place, symbols] : symbols_)
    if (const std::string* const name = place.first == 0 ? map.name_at(place.second) : nullptr; name != nullptr)
      symbols.push_back(symbol_of(*name));
  for (auto& [place, symbols] : symbols_)
    if (symbols.empty())
      symbols.push_back({.function = stacks.place_of({0, place.first, place.second}), .file = {}, .is_place = true});
}

const std::vector<Symbol>& Symbols::at(const CallFrame& frame) const {
  return symbols_.at({frame.module, frame.address});
}

}  // namespace snug::tool
