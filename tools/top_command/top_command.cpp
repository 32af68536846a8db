#include "top_command/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include "live/live_process.h"
#include "print/output_file.h"
#include "print/table.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/user_error.h"
#include "top_command/terminal.h"
#include "top_command/top_view.h"

namespace snug::tool {

namespace {

using std::chrono::steady_clock;

constexpr const char* kExamples = R"(Examples:
  snug top                       all processes that publish and may be asked
  snug top 1234                  of one: parts of its memory, classes, threads
  snug top --once                one look, for scripts; so it is where output is no terminal
  snug top -n 2 -d 10 --json     two looks, the second with what was done in a second

Keys: up, down, enter: one process; escape: back; m, l, a, n: sort by memory, live bytes, mallocs, number; p: have the
process give back what is free; q: end.

A process can be asked if it was started with SNUG_CONF=publish:on, by its own user and by root.)";

constexpr const char* kKeys = "q end  enter detail  esc back  p purge  sort: m memory, l live, a mallocs, n number";

class Top {
 public:
  Top(std::vector<pid_t> named, std::chrono::milliseconds period) : named_(std::move(named)), period_(period) {
    if (named_.size() == 1) opened_ = named_[0];
  }

  // Takes in one look. Throws UserError if a process that was named cannot be asked.
  void look(bool is_first) {
    std::vector<LiveStatistics> all;
    const auto patience = named_.empty() ? LiveProcess::kPatienceWithOneOfAll : LiveProcess::kPatience;
    for (const pid_t pid : named_.empty() ? published_processes() : named_) {
      try {
        all.push_back(read_statistics(pid, opened_ == pid, patience));
      } catch (const UserError& error) {
        if (is_first && !named_.empty()) throw;
        message_ = error.what();
      }
    }
    view_.add(std::move(all), steady_clock::now());
  }

  nlohmann::ordered_json json() const { return view_.json(); }

  std::string text(std::size_t lines, std::size_t width) const {
    return opened_ ? view_.detail(*opened_, lines, width) : view_.list(lines, width, marked_);
  }

  int run() {
    const Terminal terminal;
    for (auto next = steady_clock::now();;) {
      const auto now = steady_clock::now();
      if (now >= next) {
        look(false);
        next = now + period_;
      }
      const std::size_t lines = std::max<std::size_t>(4, terminal.lines());
      const std::size_t width = terminal_width(STDOUT_FILENO);
      const std::string foot = message_.empty() ? kKeys : message_;
      terminal.draw(text(lines - 2, width) + "\n" + foot.substr(0, width));
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - steady_clock::now());
      const std::string key = terminal.key(std::max(left, std::chrono::milliseconds(0)));
      if (key == "q") return EXIT_SUCCESS;
      if (!key.empty()) act(key);
    }
  }

 private:
  void act(const std::string& key) {
    message_.clear();
    const std::vector<pid_t> shown = view_.shown();
    marked_ = std::min(marked_, shown.empty() ? 0 : shown.size() - 1);
    if (key == "up" && marked_ != 0) --marked_;
    if (key == "down" && marked_ + 1 < shown.size()) ++marked_;
    if (key == "enter" && !shown.empty()) opened_ = shown[marked_];
    if (key == "enter") look(false);
    if (key == "escape" && named_.size() != 1) opened_.reset();
    if (key == "m") view_.set_order(TopOrder::kMemory);
    if (key == "l") view_.set_order(TopOrder::kLive);
    if (key == "a") view_.set_order(TopOrder::kRate);
    if (key == "n") view_.set_order(TopOrder::kNumber);
    if (key == "p" && (opened_ || !shown.empty())) purge(opened_ ? *opened_ : shown[marked_]);
  }

  void purge(pid_t pid) {
    try {
      const double before = resident_bytes(pid);
      LiveProcess(pid).ask(ControlCommand::kPurge);
      message_ = fmt::format("process {}: {:.1f} MiB given back", pid, (before - resident_bytes(pid)) / (1 << 20));
    } catch (const UserError& error) {
      message_ = error.what();
    }
  }

  const std::vector<pid_t> named_;
  const std::chrono::milliseconds period_;
  TopView view_;
  std::optional<pid_t> opened_;
  std::size_t marked_ = 0;
  std::string message_;
};

}  // namespace

TopCommand::TopCommand(CLI::App& app) {
  command_ = app.add_subcommand("top", "The heaps of running processes, looked at again and again");
  command_->footer(kExamples);
  command_->add_option("process", words_, "Numbers of processes; all that publish, if none is named")
      ->type_name("PID...");
  command_->add_option("-d,--delay", seconds_, "Seconds between two looks")
      ->check(number_within(0.1, 3600.0))
      ->capture_default_str();
  auto* looks = command_->add_option("-n,--looks", looks_, "End after so many looks, printed one below the other")
                    ->check(number_within(std::uint64_t{1}, std::uint64_t{1000000}));
  command_->add_flag_callback("--once", [this] { looks_ = 1; }, "One look")->excludes(looks);
  command_->add_flag("--json", json_, "As JSON, a look a line (snug.top/1); without -n one look");
}

int TopCommand::execute() const {
  std::vector<pid_t> named;
  for (const std::string& word : words_) named.push_back(process_number(word));
  const std::chrono::milliseconds period(static_cast<std::int64_t>(seconds_ * 1000));
  Top top(std::move(named), period);
  top.look(true);
  if (looks_ == 0 && !json_ && Terminal::is_here()) return top.run();
  for (std::uint64_t left = std::max<std::uint64_t>(looks_, 1);;) {
    write_output(kStandardOutput, json_ ? json_text(top.json()) + "\n" : top.text(SIZE_MAX, SIZE_MAX));
    if (--left == 0) return EXIT_SUCCESS;
    std::this_thread::sleep_for(period);
    top.look(false);
  }
}

}  // namespace snug::tool
