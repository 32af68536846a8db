#include "replay_command/components.h"

#include <fmt/format.h>

#include "print/quantity.h"
#include "process/c_library.h"
#include "snug/snug.h"

namespace snug::tool {

using replayer::Component;

namespace {

constexpr const char* kTlsf = "tlsf";

struct NamedComponent {
  const char* name;
  Component component;
};

constexpr NamedComponent kComponents[] = {
    {"cell", Component::kCell}, {"pool", Component::kPool}, {"compact", Component::kCompact}};

}  // namespace

std::vector<std::string> component_names() {
  std::vector<std::string> names;
  for (const NamedComponent& one : kComponents) names.emplace_back(one.name);
  names.emplace_back(kTlsf);
  return names;
}

std::optional<Component> component_named(const std::string& name) {
  for (const NamedComponent& one : kComponents)
    if (name == one.name) return one.component;
  return std::nullopt;
}

// What is preloaded serves libc alone, for the threads that it starts.
Allocator find_component(const std::string& name, const std::string& tlsf) {
  if (name != kTlsf) {
    Allocator component = find_allocator(CLibrary::current().name, "");
    component.name = name;
    component.version = fmt::format("{}.{}.{}", SNUG_VERSION_MAJOR, SNUG_VERSION_MINOR, SNUG_VERSION_PATCH);
    component.is_component = true;
    return component;
  }
  Allocator allocator = find_allocator(tlsf.empty() ? kTlsf : tlsf, "");
  allocator.name = kTlsf;
  return allocator;
}

std::string component_text(const replayer::ComponentOptions& options) {
  const auto bytes = [](std::uint64_t value) { return value_text(static_cast<double>(value), kBytes); };
  switch (options.component) {
    case Component::kCell:
      return fmt::format("cell is the cell heap over one region of {}, of which what it has touched is resident",
                         bytes(options.region_bytes));
    case Component::kPool:
      return "pool has a pool for each multiple of 16 B up to 1 KiB, what is larger goes to snug's heap; reallocations "
             "are emulated by a copy, alignments above 16 B are not kept, sizes of blocks cannot be asked for";
    case Component::kCompact:
      return fmt::format("compact is the compacting heap with {} not full page(s) a class (kappa), by handles",
                         options.not_full);
    default:
      return {};
  }
}

}  // namespace snug::tool
