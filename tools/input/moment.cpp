#include "input/moment.h"

#include <fmt/format.h>

#include <cstdlib>

#include "print/quantity.h"
#include "print/say.h"
#include "text/number_within.h"
#include "text/printable.h"
#include "text/user_error.h"
#include "trace/trace_account.h"

namespace snug::tool {

namespace {

constexpr double kMostSeconds = 4294967296;

TraceMoment peak_of(const TraceInput& input) {
  TraceInput once(input.path(), Telling::kNothing, std::to_string(input.process().number));
  trace::TraceAccount account;
  TraceMoment peak;
  std::uint64_t most = 0;
  for (trace::Event event; once.next(event);) {
    account.add(event);
    if (account.peak_bytes() == most) continue;
    most = account.peak_bytes();
    peak.events = account.events();
  }
  if (most == 0) throw UserError(fmt::format("{}: it has no peak: nothing is allocated", printable(input.path())));
  say("snug: {}: the peak is at {:.6f} s: {} live in {} blocks\n", printable(input.path()),
      static_cast<double>(account.peak_time() * trace::kNanosecondsPerStep) * 1e-9,
      value_text(static_cast<double>(most), kBytes), account.peak_blocks());
  return peak;
}

}  // namespace

TraceMoment moment_of(const std::string& word, const TraceInput& input) {
  if (word == kPeak) return peak_of(input);
  const double seconds = std::strtod(word.c_str(), nullptr);  // of what the option's check has let through
  return {.time = static_cast<std::uint64_t>(seconds * 1e9 / static_cast<double>(trace::kNanosecondsPerStep))};
}

CLI::Validator moment_check() {
  const CLI::Validator seconds = number_within(0.0, kMostSeconds);
  return CLI::Validator(
      [seconds](std::string& word) -> std::string {
        if (word == kPeak || seconds(word).empty()) return "";
        return fmt::format("'{}' is neither {} nor a number of seconds", word, kPeak);
      },
      "");
}

CLI::Option* add_moment_option(CLI::App& command, std::string& word, const std::string& what) {
  return command
      .add_option("--at", word,
                  what + ": so many seconds from the trace's beginning, or peak, where most bytes live at a time")
      ->check(moment_check())
      ->type_name("SECONDS|peak");
}

}  // namespace snug::tool
