#include "profile_command/profile_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "print/quantity.h"
#include "print/table.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

using Json = nlohmann::ordered_json;
using Row = std::pair<const HeapProfileFile::Stack*, ProfileAmount>;

constexpr std::size_t kShownFrames = 4;
constexpr std::size_t kMostName = 48;
constexpr const char* kMeasures[] = {"allocated", "live", "peak"};

std::vector<Row> rows_of(const HeapProfileFile& profile, ProfileMeasure measure) {
  std::vector<Row> rows;
  for (const auto& [stack, amounts] : profile.stacks())
    if (const ProfileAmount& amount = amounts[static_cast<std::size_t>(measure)]; amount.bytes != 0)
      rows.emplace_back(&stack, amount);
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::abs(a.second.bytes) > std::abs(b.second.bytes); });
  return rows;
}

std::string signed_text(double value, const char* unit) {
  return value < 0 ? "-" + value_text(-value, unit) : value_text(value, unit);
}

std::string stack_text(const HeapProfileFile::Stack& stack) {
  if (stack.empty()) return "unknown";
  std::string text;
  for (std::size_t i = 0; i != std::min(stack.size(), kShownFrames); ++i) {
    const std::string name = printable(stack[i]);
    text += (i == 0 ? "" : " < ") + (name.size() > kMostName ? name.substr(0, kMostName) + "…" : name);
  }
  return text + (stack.size() > kShownFrames ? " < …" : "");
}

}  // namespace

std::string profile_table(const HeapProfileFile& profile, ProfileMeasure measure, std::size_t most) {
  const std::vector<Row> rows = rows_of(profile, measure);
  ProfileAmount sum;
  double whole = 0;
  for (const auto& [stack, amount] : rows) {
    sum.bytes += amount.bytes;
    sum.blocks += amount.blocks;
    whole += std::abs(amount.bytes);
  }
  std::string text = fmt::format("{}: {} in {} blocks, of {} stacks (estimates, a sample each {} on average)\n",
                                 kMeasures[static_cast<std::size_t>(measure)], signed_text(sum.bytes, kBytes),
                                 signed_text(std::round(sum.blocks), kCount), rows.size(),
                                 value_text(static_cast<double>(profile.distance()), kBytes));
  Table table({"bytes", "part", "blocks", "  stack, innermost first"});
  for (std::size_t i = 0; i != std::min(most, rows.size()); ++i)
    table.add_row({signed_text(rows[i].second.bytes, kBytes),
                   fmt::format("{:.1f}%", 100 * std::abs(rows[i].second.bytes) / whole),
                   signed_text(std::round(rows[i].second.blocks), kCount)});
  // The stacks stand flush left, so that they are no column of the table.
  std::vector<std::string> lines;
  const std::string columns = table.text();
  for (std::size_t at = 0; at < columns.size();) {
    const std::size_t end = std::min(columns.find('\n', at), columns.size());
    lines.push_back(columns.substr(at, end - at));
    at = end + 1;
  }
  for (std::size_t i = 0; i != lines.size(); ++i)
    text += lines[i] + (i == 0 ? "" : "  " + stack_text(*rows[i - 1].first)) + "\n";
  if (rows.size() > most) text += fmt::format("and {} stacks more: -n shows them\n", rows.size() - most);
  return text;
}

Json profile_json(const HeapProfileFile& profile) {
  Json stacks = Json::array();
  for (const auto& [stack, amounts] : profile.stacks()) {
    Json one;
    one["stack"] = Json::array();
    for (const std::string& name : stack) one["stack"].push_back(printable(name));
    for (std::size_t i = 0; i != amounts.size(); ++i)
      one[kMeasures[i]] = {{"bytes", amounts[i].bytes}, {"blocks", amounts[i].blocks}};
    stacks.push_back(one);
  }
  return {{"schema", "snug.profile/1"}, {"distance", profile.distance()}, {"stacks", stacks}};
}

std::string collapsed_stacks(const HeapProfileFile& profile, ProfileMeasure measure) {
  std::string text;
  for (const auto& [stack, amount] : rows_of(profile, measure)) {
    if (amount.bytes < 0.5) continue;
    std::string line;
    for (auto name = stack->rbegin(); name != stack->rend(); ++name) {
      std::string word = printable(*name);
      std::replace(word.begin(), word.end(), ';', ':');
      line += (line.empty() ? "" : ";") + word;
    }
    text += fmt::format("{} {:.0f}\n", line.empty() ? "unknown" : line, amount.bytes);
  }
  return text;
}

}  // namespace snug::tool
