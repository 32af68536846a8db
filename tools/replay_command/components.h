// The heaps that are no malloc and that a trace can be replayed on: parts of snug, called directly by a replayer that
// has them linked in (replay/); and TLSF as its users have it, behind a lock, a library that is preloaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "library/allocator_catalogue.h"
#include "replay/stage.h"

namespace snug::tool {

// By the names that --component takes.
std::vector<std::string> component_names();
// None for "tlsf", which is an allocator.
std::optional<replayer::Component> component_named(const std::string& name);

// A contender of that name. `tlsf`: the path of its library, or empty. Throws UserError if that is not there.
Allocator find_component(const std::string& name, const std::string& tlsf);

// What the heap does not do, and how the replay does it.
std::string component_text(const replayer::ComponentOptions& options);

}  // namespace snug::tool
