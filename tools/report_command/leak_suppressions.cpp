#include "report_command/leak_suppressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "text/numbered_lines.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kKind = "leak:";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::ifstream open_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw UserError(fmt::format("cannot read '{}': it is a folder", printable(path)));
  std::ifstream file(path);
  if (!file) throw UserError(fmt::format("cannot read '{}': {}", printable(path), std::strerror(errno)));
  return file;
}

}  // namespace

// Each part is taken where it is found first, as LeakSanitizer does: "b$" does not match "bb".
bool matches_suppression(std::string_view pattern, std::string_view name) {
  if (name.empty()) return false;
  bool is_bound = pattern.starts_with('^');  // to where the name goes on
  if (is_bound) pattern.remove_prefix(1);
  bool is_open = false;  // a * was the last
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      pattern.remove_prefix(1);
      is_bound = false;
      is_open = true;
      continue;
    }
    if (pattern.front() == '$') return name.empty() || is_open;
    const std::string_view part = pattern.substr(0, pattern.find_first_of("*$"));
    const std::size_t found = name.find(part);
    if (found == std::string_view::npos || (is_bound && found != 0)) return false;
    name.remove_prefix(found + part.size());
    pattern.remove_prefix(part.size());
    is_bound = is_open = false;
  }
  return true;
}

LeakSuppressions::LeakSuppressions(std::string path) : path_(std::move(path)) {
  std::ifstream file = open_file(path_);
  for (NumberedLines lines(file, path_); lines.next();) {
    const std::string_view line = trimmed(lines.line());
    if (line.empty() || line.starts_with('#')) continue;
    const std::string_view pattern = line.starts_with(kKind) ? line.substr(kKind.size()) : std::string_view();
    if (pattern.empty()) throw lines.fault(fmt::format("'{}' is no leak:PATTERN", printable(shortened(line))));
    rules_.push_back({.pattern = std::string(pattern), .line = lines.number()});
  }
}

LeakSuppressions::Rule* LeakSuppressions::rule_for_name(const std::string& name) {
  const auto found =
      std::ranges::find_if(rules_, [&name](const Rule& rule) { return matches_suppression(rule.pattern, name); });
  return found == rules_.end() ? nullptr : &*found;
}

LeakSuppressions::Rule* LeakSuppressions::rule_for(const std::vector<CallFrame>& frames, const CallStacks& stacks,
                                                   const Symbols& symbols) {
  for (const CallFrame& frame : frames) {
    const auto module = stacks.modules().find(frame.module);
    if (module != stacks.modules().end())
      if (Rule* const rule = rule_for_name(module->second.path); rule != nullptr) return rule;
    for (const Symbol& symbol : symbols.at(frame))
      for (const std::string* name : {&symbol.function, &symbol.file})
        if (Rule* const rule = rule_for_name(*name); rule != nullptr) return rule;
  }
  return nullptr;
}

bool LeakSuppressions::suppress(const std::vector<CallFrame>& frames, const CallStacks& stacks, const Symbols& symbols,
                                const BlockSums& leaked) {
  Rule* const rule = rule_for(frames, stacks, symbols);
  if (rule == nullptr) return false;
  ++rule->stacks;
  rule->leaked += leaked;
  return true;
}

BlockSums LeakSuppressions::suppressed() const {
  BlockSums sums;
  for (const Rule& rule : rules_) sums += rule.leaked;
  return sums;
}

std::string LeakSuppressions::text() const {
  std::string text;
  for (const Rule& rule : rules_)
    text += rule.stacks == 0
                ? fmt::format("unused      leak:{} ({}:{})\n", printable(rule.pattern), printable(path_), rule.line)
                : fmt::format("suppressed  leak:{}: {} in {}, of {} {}\n", printable(rule.pattern),
                              value_text(static_cast<double>(rule.leaked.bytes), kBytes),
                              blocks_text(rule.leaked.blocks), rule.stacks, rule.stacks == 1 ? "stack" : "stacks");
  return text;
}

}  // namespace snug::tool
