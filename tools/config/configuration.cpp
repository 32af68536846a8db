#include "config/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "heap/config.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::string_view kComplaintStart = "snug: SNUG_CONF: ";

std::string value_of(const Config& config, std::size_t key) {
  char text[sizeof config.report];
  print_config_value(config, key, text, sizeof text);
  return text;
}

// How many letters must be put in, left out or replaced to make the one word of the other (Levenshtein).
std::size_t distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

const char* nearest_key(const std::string& word) {
  return std::min_element(kConfigTable, kConfigTable + kConfigKeys,
                          [&](const ConfigKey& one, const ConfigKey& other) {
                            return distance(word, one.key) < distance(word, other.key);
                          })
      ->key;
}

void check_key(const std::string& key) {
  const auto is_key = [&](const ConfigKey& known) { return known.key == key; };
  if (std::any_of(kConfigTable, kConfigTable + kConfigKeys, is_key)) return;
  throw UserError(
      fmt::format("--conf: unknown key '{}': the nearest is '{}' (snug config lists all)", key, nearest_key(key)));
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
  std::istringstream pairs(settings);
  for (std::string pair; std::getline(pairs, pair, ',');) {
    if (!pair.empty()) check_key(pair.substr(0, pair.find(':')));
  }
  static std::string complaint;  // the reader takes a function, not an object
  complaint.clear();
  std::uint32_t set_keys = 0;
  parse_config(settings.c_str(), &set_keys, [](const char* line, std::size_t length) {
    if (complaint.empty()) complaint.assign(line, length);
  });
  if (complaint.empty()) return;
  complaint.pop_back();  // the line's end
  throw UserError("--conf: " + complaint.substr(kComplaintStart.size()));
}

}  // namespace snug::tool
