#include "inspect_command/mapped_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

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

MappedCode::MappedCode(std::vector<Mapping> mappings, const std::vector<std::uint64_t>& addresses,
                       const BuildId& build_id)
    : mappings_(std::move(mappings)) {
  name(addresses, build_id);
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

void MappedCode::name(const std::vector<std::uint64_t>& addresses, const BuildId& build_id) {
  CallStacks places;
  struct Module {
    std::uint64_t number;
    bool is_same = false;  // the file, as it was mapped
  };
  std::map<std::string, Module> modules;
  std::uint64_t frame = 0;
  for (const std::uint64_t address : addresses) {
    trace::Event event;
    event.operation = trace::Operation::kFrame;
    event.values = {++frame, 0, 0, address};
    if (const Mapping* const mapping = at(address); mapping != nullptr && mapping->path.starts_with('/')) {
      const auto [found, is_new] = modules.try_emplace(mapping->path, Module{modules.size() + 1});
      Module& module = found->second;
      if (is_new) {
        trace::Event definition;
        definition.operation = trace::Operation::kModule;
        definition.values[0] = module.number;
        const std::string id = build_id(*mapping);
        definition.texts = {id, mapping->path};
        module.is_same = is_recorded_file(mapping->path, id);
        places.add(definition);
      }
      const std::uint64_t offset = address - mapping->start + mapping->offset;
      event.values[2] = module.number;
      event.values[3] = offset + (module.is_same ? symbol_bias(mapping->path, offset) : 0);
    }
    places.add(event);
  }
  const Symbols symbols(places);
  for (std::uint64_t number = 1; number <= frame; ++number)
    functions_[addresses[number - 1]] = symbols.at(places.frames().at(number));
}

}  // namespace snug::tool
