#include "inspect_command/mapped_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "library/build_id.h"
#include "library/symbol_bias.h"
#include "os/map_line.h"
#include "trace_command/call_stacks.h"

namespace snug::tool {

std::vector<Mapping> mappings_of(pid_t pid) {
  std::vector<Mapping> mappings;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    if (line.size() < 8) continue;
    const os::MapLine one = os::parse_map_line(line.c_str());
    mappings.push_back(
        {one.start, one.end, one.offset, one.path, line[std::min(line.find(' '), line.size() - 3) + 2] == 'w'});
  }
  return mappings;
}

MappedCode::MappedCode(std::vector<Mapping> mappings, const std::vector<std::uint64_t>& addresses)
    : mappings_(std::move(mappings)) {
  name(addresses);
}

const Mapping* MappedCode::at(std::uint64_t address) const {
  const auto behind = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                       [](std::uint64_t wanted, const Mapping& one) { return wanted < one.end; });
  return behind != mappings_.end() && address >= behind->start ? &*behind : nullptr;
}

std::optional<std::string> MappedCode::mapping_at(std::uint64_t address) const {
  const Mapping* const mapping = at(address);
  return mapping != nullptr ? std::optional(mapping->path) : std::nullopt;
}

void MappedCode::name(const std::vector<std::uint64_t>& addresses) {
  CallStacks places;
  std::map<std::string, std::uint64_t> modules;
  std::uint64_t frame = 0;
  for (const std::uint64_t address : addresses) {
    trace::Event event;
    event.operation = trace::Operation::kFrame;
    event.values = {++frame, 0, 0, address};
    if (const Mapping* const mapping = at(address); mapping != nullptr && mapping->path.starts_with('/')) {
      const auto [module, is_new] = modules.try_emplace(mapping->path, modules.size() + 1);
      if (is_new) {
        const std::string build_id = build_id_of(mapping->path);
        trace::Event definition;
        definition.operation = trace::Operation::kModule;
        definition.values[0] = module->second;
        definition.texts = {build_id, mapping->path};
        places.add(definition);
      }
      const std::uint64_t offset = address - mapping->start + mapping->offset;
      event.values[2] = module->second;
      event.values[3] = offset + symbol_bias(mapping->path, offset);
    }
    places.add(event);
  }
  const Symbols symbols(places);
  for (std::uint64_t number = 1; number <= frame; ++number)
    functions_[addresses[number - 1]] = symbols.at(places.frames().at(number));
}

}  // namespace snug::tool
