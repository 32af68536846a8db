// ShellWords: what words of a shell script stand for, as far as that can be known without running it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "process/environment.h"

namespace snug::tool {

class ShellWords {
 public:
  ShellWords(std::string script, const Environment& environment)
      : script_(std::move(script)), environment_(environment) {}

  // The one word that `raw` becomes; nothing where that depends on what happens while the script runs.
  std::optional<std::string> value(std::string_view raw) const;

  // From here on the variable has this value, or one that is not known.
  void set(const std::string& name, std::optional<std::string> value) { variables_[name] = std::move(value); }
  // Any variable may have got another value.
  void forget_all() { knows_variables_ = false; }

  bool is_known(const std::string& name) const;
  std::optional<std::string> variable(const std::string& name) const;  // nothing if it is not set, or not known

 private:
  std::optional<std::string> expanded(std::string_view piece) const;       // of $name, ${…}, $(…) or `…`
  std::optional<std::string> parameter(std::string_view inside) const;     // of ${…}
  std::optional<std::string> substitution(std::string_view inside) const;  // of $(…)
  bool add_quoted(std::string_view quoted, std::string& word) const;

  std::string script_;  // its path, $0
  const Environment& environment_;
  std::map<std::string, std::optional<std::string>> variables_;
  bool knows_variables_ = true;
};

}  // namespace snug::tool
