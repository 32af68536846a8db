#include "process/program_report.h"

#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "text/printable.h"

namespace snug::tool {

namespace {

constexpr std::size_t kQuotedErrorLength = 160;
constexpr std::size_t kQuotedLines = 10;

// The text under `key`; empty if there is none, or something else than a text.
std::string text_of(const nlohmann::ordered_json& figure, const char* key) {
  return figure.contains(key) && figure[key].is_string() ? figure[key].get<std::string>() : std::string();
}

}  // namespace

std::vector<Figure> read_figures(const std::filesystem::path& file) {
  std::vector<Figure> figures;
  std::ifstream stream(file);
  if (!stream) return figures;
  const auto written = nlohmann::ordered_json::parse(stream, nullptr, false);
  if (!written.is_object()) return figures;
  for (const auto& [name, figure] : written.items()) {
    if (!figure.is_object() || !figure.contains("value") || !figure["value"].is_number()) continue;
    figures.push_back({name, figure["value"], text_of(figure, "unit"), text_of(figure, "better") == "higher"});
  }
  return figures;
}

std::string last_line(const std::filesystem::path& file) {
  std::string last;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return printable(last.substr(0, kQuotedErrorLength));
}

std::string last_lines(const std::filesystem::path& file) {
  std::deque<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(printable(line.substr(0, kQuotedErrorLength)));
    if (lines.size() > kQuotedLines) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "  " + line + '\n';
  return text;
}

}  // namespace snug::tool
