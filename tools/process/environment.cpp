#include "process/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include "text/user_error.h"

namespace snug::tool {

Environment Environment::current() {
  Environment environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.set(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
  }
  return environment;
}

std::optional<std::string> Environment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

void Environment::preload(const std::string& library) {
  if (library.find_first_of(" :") != std::string::npos) {
    throw UserError(fmt::format("cannot preload '{}': LD_PRELOAD takes no path with a space or a colon", library));
  }
  const auto others = get("LD_PRELOAD");
  set("LD_PRELOAD", others && !others->empty() ? library + ":" + *others : library);
}

void Environment::configure_snug(const std::string& keys_and_values) {
  const auto others = get("SNUG_CONF");
  set("SNUG_CONF", others && !others->empty() ? *others + "," + keys_and_values : keys_and_values);
}

std::vector<std::string> Environment::assignments() const {
  std::vector<std::string> result;
  result.reserve(variables_.size());
  for (const auto& [name, value] : variables_) result.push_back(name + "=" + value);
  return result;
}

}  // namespace snug::tool
