#include "compare/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "print/say.h"

namespace snug::tool {

namespace {

constexpr double kLeastShare = 0.01;  // of a run, from which its length can be told

}  // namespace

Progress::Progress(const std::vector<std::string>& names, int rounds)
    : rounds_(rounds), total_(rounds * static_cast<int>(names.size())), terminal_(isatty(STDERR_FILENO) == 1) {
  for (const std::string& name : names) past_[name];
}

Progress::~Progress() { erase_line(); }

void Progress::erase_line() const {
  if (!terminal_) return;
  say("\r\033[K");
  std::fflush(stderr);
}

void Progress::begin(const std::string& name, int round) {
  ++number_;
  name_ = name;
  round_ = round;
  tick(0);
}

std::string Progress::head() const {
  const std::string round = round_ == 0 ? "warm-up" : fmt::format("round {}", round_);
  return fmt::format("snug: run {}/{}: {}, {}", number_, total_, round, name_);
}

double Progress::seconds_left(double elapsed, double share) const {
  Past all;
  for (const auto& [name, past] : past_) {
    all.runs += past.runs;
    all.seconds += past.seconds;
  }
  if (all.runs == 0) {
    if (share < kLeastShare) return 0;
    all = {.runs = 1, .seconds = elapsed / share};
  }
  double left = -elapsed;
  for (const auto& [name, past] : past_) {
    left += (rounds_ - past.runs) * (past.runs > 0 ? past.mean() : all.mean());
  }
  return std::max(left, 0.0);
}

void Progress::tick(double elapsed, double share) {
  if (!terminal_) return;
  const double left = seconds_left(elapsed, share);
  const std::string done = share > 0 ? fmt::format(", {:.0f}%", share * 100) : "";
  const std::string estimate = left > 0 ? fmt::format(", about {:.0f} s left", left) : "";
  say("\r\033[K{}: {:.0f} s{}{}", head(), elapsed, done, estimate);
  std::fflush(stderr);
}

void Progress::end(double elapsed, const std::string& result) {
  past_[name_].runs += 1;
  past_[name_].seconds += elapsed;
  erase_line();
  if (!terminal_) say("{}: {} (about {:.0f} s left)\n", head(), result, seconds_left(0, 0));
}

}  // namespace snug::tool
