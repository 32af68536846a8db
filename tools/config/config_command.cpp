#include "config/config_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "config/configuration.h"
#include "print/output_file.h"
#include "print/table.h"
#include "text/json_text.h"

namespace snug::tool {

namespace {

constexpr std::size_t kNarrowestHelp = 20;
constexpr const char* kExamples = R"(Examples:
  snug config
  SNUG_CONF=classes:dense snug config     what a program started with that setting would use
  snug config --json | jq '.[] | select(.origin != "default")')";

std::string as_json(const std::vector<Setting>& entries) {
  auto json = nlohmann::ordered_json::array();
  for (const Setting& entry : entries) {
    json.push_back({{"key", entry.key},
                    {"unit", entry.unit},
                    {"default", entry.default_value},
                    {"value", entry.value},
                    {"origin", entry.origin},
                    {"help", entry.help}});
  }
  // A path may be no UTF-8.
  return json_text(json, 2) + "\n";
}

// The help takes what the other columns leave of the terminal's width.
std::string as_table(const std::vector<Setting>& entries, std::size_t width) {
  const std::vector<std::string> head = {"key", "unit", "default", "value", "origin", "help"};
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> widths;
  for (const std::string& title : head) widths.push_back(title.size());
  for (const Setting& entry : entries) {
    rows.push_back({entry.key, entry.unit, entry.default_value, entry.value, entry.origin, entry.help});
    for (std::size_t i = 0; i < head.size(); ++i) widths[i] = std::max(widths[i], display_width(rows.back()[i]));
  }
  std::size_t taken = 0;
  for (std::size_t i = 0; i + 1 < head.size(); ++i) taken += widths[i] + 2;
  const std::size_t left = std::max(width, taken + kNarrowestHelp) - taken;
  Table table(head, Table::Align::kLeft);
  for (auto& row : rows) {
    const std::vector<std::string> help = wrapped(row.back(), left);
    row.back() = help.front();
    table.add_row(row);
    for (std::size_t i = 1; i < help.size(); ++i) table.add_row({"", "", "", "", "", help[i]});
  }
  return table.text();
}

}  // namespace

ConfigCommand::ConfigCommand(CLI::App& app) {
  command_ = app.add_subcommand("config", "List the settings of SNUG_CONF with unit, default, value and origin");
  command_->footer(kExamples);
  command_->add_flag("--json", json_, "As a JSON array");
}

int ConfigCommand::execute() const {
  const std::vector<Setting> entries = read_settings();
  write_output(kStandardOutput, json_ ? as_json(entries) : as_table(entries, terminal_width(STDOUT_FILENO)));
  return EXIT_SUCCESS;
}

}  // namespace snug::tool
