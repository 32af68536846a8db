#include "report_command/report_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>

#include "print/quantity.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

// What can be bounded: of the whole recording, and what a function has of it.
struct Measure {
  const char* name;
  const char* unit;
  std::uint64_t (*of_all)(const HeapHistory&);
  std::uint64_t (*of_function)(const OwnedSums&);
  std::uint64_t (*of_suppressed)(const BlockSums&) = nullptr;  // what of it is suppressed
};

std::uint64_t most_resident(const HeapHistory& history) { return history.most_resident(); }

using History = const HeapHistory&;
using Owned = const OwnedSums&;
constexpr auto kNothing = [](Owned) { return std::uint64_t{0}; };
// Of stacks that have blocks of one class.
constexpr auto rounding_of = [](Owned sums) {
  std::uint64_t rounding = 0;
  for (const auto& [takes, of_class] : sums.of_one_class) rounding += of_class.blocks * takes - of_class.bytes;
  return rounding;
};
constexpr std::array kMeasures = {
    Measure{"peak", kBytes, [](History all) { return all.at_peak().bytes; },
            [](Owned sums) { return sums.at_peak.bytes; }},
    Measure{"peak_blocks", kCount, [](History all) { return all.at_peak().blocks; },
            [](Owned sums) { return sums.at_peak.blocks; }},
    Measure{"leaked", kBytes, [](History all) { return all.live().live().bytes; },
            [](Owned sums) { return sums.leaked.bytes; }, [](const BlockSums& sums) { return sums.bytes; }},
    Measure{"leaked_blocks", kCount, [](History all) { return all.live().live().blocks; },
            [](Owned sums) { return sums.leaked.blocks; }, [](const BlockSums& sums) { return sums.blocks; }},
    Measure{"allocated", kBytes, [](History all) { return all.allocated().bytes; },
            [](Owned sums) { return sums.all.allocated.bytes; }},
    Measure{"allocations", kCount, [](History all) { return all.allocated().blocks; },
            [](Owned sums) { return sums.all.allocated.blocks; }},
    Measure{"temporary", kCount, [](History all) { return all.temporary().blocks; },
            [](Owned sums) { return sums.all.temporary.blocks; }},
    Measure{"copied", kBytes, [](History all) { return all.growth().copied_bytes; },
            [](Owned sums) { return sums.growth.copied_bytes; }},
    Measure{"rounding", kBytes, [](History all) { return all.rounded_at_peak() - all.at_peak().bytes; }, rounding_of},
    Measure{"resident", kBytes, most_resident, kNothing}};

constexpr std::array kRelations = {"<=", ">=", "<", ">"};  // the longer ones first

bool holds(std::uint64_t value, const std::string& relation, std::uint64_t limit) {
  if (relation == "<") return value < limit;
  if (relation == "<=") return value <= limit;
  return relation == ">" ? value > limit : value >= limit;
}

// 1048576, 1024K, 1M, 1MiB; nothing if it is none, or beyond 64 bits.
std::optional<std::uint64_t> number_of(const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t number = 0;
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(behind, text.data() + text.size());
  if (error != std::errc{}) return std::nullopt;
  if (unit.empty() || unit == "B") return number;
  const std::size_t power = kUnits.find(unit.front());
  unit.remove_prefix(1);
  if (power == std::string_view::npos || !(unit.empty() || unit == "B" || unit == "iB")) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (power + 1));
  return number > UINT64_MAX >> shift ? std::nullopt : std::optional(number << shift);
}

[[noreturn]] void refuse(const std::string& limit, const std::string& why) {
  throw UserError(fmt::format("--check: '{}': {}; as in 'peak<200M,leaked<1M', of {}", limit, why, check_names()));
}

// With the exact number where the short one reads like the limit: "1.0 MiB (1048577)" is not within 1M.
std::string text_beside(std::uint64_t value, std::uint64_t limit, const char* unit) {
  std::string text = value_text(static_cast<double>(value), unit);
  if (value != limit && text == value_text(static_cast<double>(limit), unit)) text += fmt::format(" ({})", value);
  return text;
}

}  // namespace

std::string check_names() {
  std::string names;
  for (const Measure& measure : kMeasures) names += (names.empty() ? "" : ", ") + std::string(measure.name);
  return names;
}

ReportCheck::ReportCheck(const std::string& limits) {
  std::istringstream list(limits);
  for (std::string limit; std::getline(list, limit, ',');) {
    std::erase(limit, ' ');
    const auto relation =
        std::ranges::find_if(kRelations, [&limit](const char* sign) { return limit.find(sign) != std::string::npos; });
    if (relation == kRelations.end()) refuse(limit, "there is no <, <=, > or >= in it");
    const std::size_t at = limit.find(*relation);
    const std::string name = limit.substr(0, at);
    const std::string value = limit.substr(at + std::string(*relation).size());
    const auto measure = std::ranges::find_if(kMeasures, [&name](const Measure& one) { return one.name == name; });
    if (measure == kMeasures.end()) refuse(limit, fmt::format("'{}' is nothing that can be bounded", name));
    const std::optional<std::uint64_t> number = number_of(value);
    if (!number) refuse(limit, fmt::format("'{}' is no number of bytes or blocks", value));
    limits_.push_back({static_cast<std::size_t>(measure - kMeasures.begin()), *relation, *number, *relation + value});
  }
  if (limits_.empty() || limits.ends_with(',')) refuse(limits, "there is a limit missing");
}

std::vector<ReportCheck::Verdict> ReportCheck::judge(const HeapHistory& history, const CallOwners& owners,
                                                     bool has_stacks, const BlockSums& suppressed) const {
  std::vector<Verdict> verdicts;
  for (const Limit& limit : limits_) {
    const Measure& measure = kMeasures[limit.measure];
    const std::uint64_t hidden = measure.of_suppressed != nullptr ? measure.of_suppressed(suppressed) : 0;
    const std::uint64_t value = measure.of_all(history) - hidden;
    // What nobody measured keeps no limit.
    if (measure.of_all == most_resident && history.most_resident() == 0) {
      verdicts.push_back(
          {.holds = false,
           .line = fmt::format("FAILED: {} is not known: the recording has no sample of it", measure.name)});
      continue;
    }
    Verdict verdict{.holds = holds(value, limit.relation, limit.value), .line = {}};
    verdict.line = fmt::format("{}: {} is {}, asked: {}{}", verdict.holds ? "ok" : "FAILED", measure.name,
                               text_beside(value, limit.value, measure.unit), measure.name, limit.text);
    const auto less = [&measure](const OwnedSums& a, const OwnedSums& b) {
      return measure.of_function(a) < measure.of_function(b);
    };
    const auto most = std::ranges::max_element(owners.sums(), less);
    if (!verdict.holds && has_stacks && most != owners.sums().end() && measure.of_function(*most) != 0)
      verdict.line += fmt::format("; most of it, {}, is of {}",
                                  value_text(static_cast<double>(measure.of_function(*most)), measure.unit),
                                  owners.text_of(most->node));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace snug::tool
