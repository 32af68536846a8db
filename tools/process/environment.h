// Environment: the variables a program is started with. A value; the tool's own environment is never changed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace snug::tool {

class Environment {
 public:
  static Environment current();

  void set(const std::string& name, const std::string& value) { variables_[name] = value; }
  void unset(const std::string& name) { variables_.erase(name); }
  std::optional<std::string> get(const std::string& name) const;

  // Puts `library` in front of any LD_PRELOAD there is: the first library that defines malloc serves it.
  // Refuses a path that LD_PRELOAD cannot express.
  void preload(const std::string& library);
  // Adds `key:value,…` behind any SNUG_CONF there is: of one key given twice, snug takes the last.
  void configure_snug(const std::string& keys_and_values);

  // "NAME=VALUE" strings, for execve's third argument.
  std::vector<std::string> assignments() const;

 private:
  std::map<std::string, std::string> variables_;
};

}  // namespace snug::tool
