#include "config/configuration.h"

#include <fmt/format.h>

#include <cstdlib>

#include "allocator/config.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::string_view kComplaintStart = "snug: SNUG_CONF: ";

std::string value_of(const Config& config, std::size_t key) {
  char text[sizeof config.report];
  print_config_value(config, key, text, sizeof text);
  return text;
}

}  // namespace

std::vector<Setting> read_settings() {
  std::uint32_t set_keys = 0;
  const Config config = read_config(&set_keys);
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < kConfigKeys; ++i) {
    const ConfigKey& key = kConfigTable[i];
    settings.push_back({key.key, key.unit, value_of(Config(), i), value_of(config, i),
                        (set_keys >> i & 1) != 0 ? "SNUG_CONF" : "default", key.help});
  }
  return settings;
}

void check_settings(const std::string& settings) {
  static std::string complaint;  // the reader takes a function, not an object
  complaint.clear();
  std::uint32_t set_keys = 0;
  parse_config(settings.c_str(), &set_keys, [](const char* line, std::size_t length) {
    if (complaint.empty()) complaint.assign(line, length);
  });
  if (complaint.empty()) return;
  complaint.pop_back();  // the line's end
  throw UserError(fmt::format("--conf: {} (snug config lists all)", complaint.substr(kComplaintStart.size())));
}

std::uint64_t profile_distance(const std::string& size) {
  std::uint32_t set_keys = 0;
  const Config config = parse_config(("profile:" + size).c_str(), &set_keys, [](const char*, std::size_t) {});
  if (config.profile == 0)
    throw UserError(fmt::format("'{}' is no distance between samples: a size in bytes from 1K to 1G", printable(size)));
  return config.profile;
}

}  // namespace snug::tool
