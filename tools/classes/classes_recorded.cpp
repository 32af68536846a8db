#include "classes/classes_recorded.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "input/trace_input.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace/trace_account.h"

namespace snug::tool {

namespace {

// Of a pipe what is read would be lost.
bool is_recorded(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  std::ifstream file(path, std::ios::binary);
  std::uint64_t begin = 0;
  return file.read(reinterpret_cast<char*>(&begin), sizeof begin) && begin == trace::kFileMagic;
}

// The events that `snug trace export --to lines` writes; those of blocks that are not there are left out, as there.
FitInput count_recorded(TraceInput& input, TraceCount counted) {
  trace::TraceAccount account;
  TraceSizes sizes(counted);
  std::uint64_t number = 0;
  for (trace::Event event; input.next(event);) {
    ++number;
    const bool finds = event.effect() == trace::Effect::kFinds;
    const bool comes = finds || event.allocates();
    if (!comes && !event.frees()) continue;
    const auto goes = account.live().find(event.block);
    const bool is_known = !event.frees() || goes != account.live().end();
    const bool is_new = !comes || !account.live().contains(finds ? event.block : event.result);
    if (!is_known || !is_new) continue;
    const auto gone = event.frees() ? std::optional(goes->second) : std::nullopt;
    account.add(event);
    try {
      if (event.size > kLargestHistogramSize && comes)
        throw UserError(fmt::format("a block of {} bytes, which is more than a program can have", event.size));
      sizes.add(gone, comes ? std::optional(event.size) : std::nullopt, account.live_bytes(), account.live_blocks(),
                number);
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: event {}: {}", printable(input.path()), number, error.what()));
    }
  }
  if (sizes.is_empty()) throw UserError(fmt::format("{}: no block of any size", printable(input.path())));
  CountedTrace result = sizes.finish(account.live_blocks());
  result.summary.is_recorded = true;
  return {.histogram = std::move(result.histogram), .trace = result.summary, .is_damaged = input.is_damaged()};
}

}  // namespace

FitInput read_fit_file(const std::string& path, std::optional<TraceCount> counted, const std::string& process) {
  if (path != "-" && is_recorded(path)) {
    TraceInput input(path, Telling::kAll, process);
    input.expect_events();
    return count_recorded(input, counted.value_or(TraceCount::kPeak));
  }
  if (!process.empty())
    throw UserError(fmt::format("--process says which process of a recording counts, and '{}' is none", path));
  return read_fit_input(path, counted);
}

}  // namespace snug::tool
