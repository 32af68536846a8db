// SNUG_CONF as the library reads it, by its own reader, without the library's heap in the tool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace snug::tool {

// One key, with what is in force in this environment.
struct Setting {
  std::string key;
  std::string unit;
  std::string default_value;
  std::string value;
  std::string origin;  // "default" or "SNUG_CONF"
  std::string help;
};

// All keys. Says on standard error what is wrong in SNUG_CONF, as each program that runs on snug does.
std::vector<Setting> read_settings();

// Throws UserError at the first mistake in `settings`, the value of --conf: a program would go on without it.
void check_settings(const std::string& settings);

// The value of the setting `profile`, in bytes, not "off". Throws UserError.
std::uint64_t profile_distance(const std::string& size);

}  // namespace snug::tool
