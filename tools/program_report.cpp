#include "program_report.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace snug::tool {

namespace {

constexpr std::size_t kQuotedErrorLength = 160;

}  // namespace

std::vector<Figure> read_figures(const std::filesystem::path& file) {
  std::vector<Figure> figures;
  std::ifstream stream(file);
  if (!stream) return figures;
  const auto written = nlohmann::ordered_json::parse(stream, nullptr, false);
  if (!written.is_object()) return figures;
  for (const auto& [name, figure] : written.items()) {
    if (!figure.is_object() || !figure.contains("value") || !figure["value"].is_number()) continue;
    figures.push_back({name, figure["value"], figure.value("unit", ""), figure.value("better", "lower") == "higher"});
  }
  return figures;
}

std::string last_line(const std::filesystem::path& file) {
  std::string last;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last.substr(0, kQuotedErrorLength);
}

}  // namespace snug::tool
