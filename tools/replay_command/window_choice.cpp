#include "replay_command/window_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "text/user_error.h"

namespace snug::tool {

namespace {

// So many checkpoints at least, where the trace is long enough.
constexpr std::uint64_t kCheckpoints = 250;
constexpr std::uint64_t kMostWindow = std::uint64_t{1} << 19;
// At full speed the allocator's clock moves on between windows. As often as a recording has samples.
constexpr std::uint64_t kMostTime = 100'000'000 / trace::kNanosecondsPerStep;

// From how many bytes on the trace says what was touched of a block; nothing if it does not.
std::optional<std::uint64_t> told_from(const TraceInput& input) {
  const std::string said = input.fact("touched").value_or("");
  const char* const end = said.data() + said.size();
  std::uint64_t bytes = 0;
  const auto [behind, error] = std::from_chars(said.data(), end, bytes);
  return error == std::errc{} && behind == end && bytes != 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace

WindowOptions window_options(const TraceInput& input, const std::string& touch, Pace pace, std::uint64_t least_events) {
  const std::optional<std::uint64_t> told = told_from(input);
  if (touch == kTouchRecorded && !told)
    throw UserError(
        fmt::format("--touch recorded: '{}' does not say what was touched: import and synthesis do not know, "
                    "and snug record before format 2 did not tell",
                    input.path()));
  const bool is_told = told && (touch.empty() || touch == kTouchRecorded);
  return {.touch = touch == "none"    ? replayer::Touch::kNone
                   : touch == "first" ? replayer::Touch::kFirst
                                      : replayer::Touch::kAll,
          .told_from = is_told ? *told : UINT64_MAX,
          .pace = pace,
          .events = std::clamp(input.told_events() / kCheckpoints, least_events, kMostWindow),
          .time = pace == Pace::kFull ? kMostTime : UINT64_MAX};
}

}  // namespace snug::tool
