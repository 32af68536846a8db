#include "run/peak_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "print/quantity.h"
#include "print/table.h"

namespace snug::tool {

namespace {

// Classes that are named, those with most that is free.
constexpr std::size_t kClasses = 6;

// Parts of `rss`, then what is not in memory.
constexpr std::pair<const char*, const char*> kParts[] = {
    {"requested", "live blocks: as asked for, about"},
    {"rounding", "live blocks: rounded up, about"},
    {"cached", "free, in thread caches"},
    {"on_their_way", "freed, on their way home"},
    {"free_in_slabs", "free, in slabs in use"},
    {"empty_slabs", "empty slabs, kept by heaps"},
    {"free_pages", "empty pages, kept (retain)"},
    {"kept_large", "freed large blocks, kept (retain_large)"},
    {"records", "records of snug's own"},
    {"other", "compacting heaps, guarded pages"},
    {"rss", "in memory"},
    {"untouched", "beside: live, not touched yet"},
    {"swapped", "beside: in swap"},
};

double number(const nlohmann::json& object, const char* field) {
  const auto value = object.find(field);
  return value != object.end() && value->is_number() ? value->get<double>() : 0;
}

const nlohmann::json* peak_of(const nlohmann::json& process) {
  const auto peak = process.find("peak");
  return peak != process.end() && peak->is_object() ? &*peak : nullptr;
}

// "1.2 MiB of 64 B, …": what is free in slabs in use, by the size of their blocks.
std::string classes_text(const nlohmann::json& peak) {
  std::vector<std::pair<double, double>> classes;  // free, size
  const auto listed = peak.find("classes");
  if (listed == peak.end() || !listed->is_array()) return {};
  for (const auto& one : *listed)
    if (one.is_object() && number(one, "free") > 0) classes.emplace_back(number(one, "free"), number(one, "size"));
  std::sort(classes.rbegin(), classes.rend());
  std::string text;
  for (std::size_t i = 0; i != std::min(classes.size(), kClasses); ++i) {
    text += fmt::format("{}{} in blocks of {:.0f} B", i == 0 ? "" : ", ", value_text(classes[i].first, kBytes),
                        classes[i].second);
  }
  return text;
}

}  // namespace

std::string peak_text(const std::vector<nlohmann::json>& processes) {
  const nlohmann::json* largest = nullptr;
  for (const auto& process : processes) {
    const auto* peak = peak_of(process);
    if (peak != nullptr && (largest == nullptr || number(*peak, "rss") > number(*peak_of(*largest), "rss")))
      largest = &process;
  }
  if (largest == nullptr) return {};
  const nlohmann::json& peak = *peak_of(*largest);
  const double rss = number(peak, "rss");
  Table table(
      {fmt::format("at the peak of {}, process {:.0f}", largest->value("program", "?"), number(*largest, "pid")),
       "bytes", "part"});
  for (const auto& [field, words] : kParts) {
    const double bytes = number(peak, field);
    const bool is_part = std::string_view(words).substr(0, 7) != "beside:";
    if (bytes == 0) continue;
    table.add_row(
        {words, value_text(bytes, kBytes), is_part && rss > 0 ? fmt::format("{:.1f}%", bytes / rss * 100) : ""});
  }
  const std::string classes = classes_text(peak);
  return table.text() + (classes.empty() ? "" : fmt::format("free in slabs: {}\n", classes));
}

}  // namespace snug::tool
