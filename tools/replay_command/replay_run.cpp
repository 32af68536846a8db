#include "replay_command/replay_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include "library/heap_memory.h"
#include "process/process_memory.h"
#include "replay/futex.h"
#include "replay_command/room.h"
#include "replay_command/stage_memory.h"

namespace snug::tool {

using replayer::Direction;
using replayer::Moment;
using replayer::Stage;
using Clock = std::chrono::steady_clock;

namespace {

// What disturbs them only adds: the least of some windows is taken.
constexpr std::uint32_t kIdleCalls = 4'000;
constexpr int kIdleWindows = 10;
constexpr int kTickMilliseconds = 250;
// A thread's end is told before the kernel has done with it.
constexpr std::chrono::milliseconds kPatienceWithThreads{500};
constexpr std::chrono::microseconds kBetweenLooks{50};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Replay {
 public:
  Replay(const ReplayPlan& plan, Command command, const HeldSignals& signals, const Advance& advance, Telling telling)
      : plan_(plan),
        signals_(signals),
        advance_(advance),
        input_(plan.file, telling, plan.process),
        maker_(input_, plan.window),
        begun_(Clock::now()),
        child_(with_arguments(std::move(command), plan, memory_), signals) {}

  // Whatever went wrong, the replayer is not left behind.
  ~Replay() {
    if (!is_reaped_) reap_after(SIGKILL);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  ReplayResult run() {
    stage().touch = plan_.window.touch;
    result_.is_whole = measure_own_cost() && play_windows();
    if (result_.is_whole) end_replayer();
    read_end();
    if (result_.cost.ending == Ending::kExited) read_ticks();
    return result_;
  }

 private:
  static Command with_arguments(Command command, const ReplayPlan& plan, const StageMemory& memory) {
    // Before the replayer begins, which looks for it at once.
    memory.stage().component = plan.component;
    command.arguments = {plan.replayer, memory.file_argument(), memory.bell_argument(), std::to_string(getpid())};
    return command;
  }

  Stage& stage() const { return memory_.stage(); }

  // Calls that do nothing, in the place of the allocator's.
  bool measure_own_cost() {
    Window idle;
    idle.runs.push_back({.lane = 0, .commands = kIdleCalls});
    idle.steps.assign(kIdleCalls, {.run = 0, .command = command_of(Direction::kIdle, 0, 0)});
    if (!reserve(idle)) return false;
    const replayer::TickHistogram& row = stage().histograms[0][0];
    std::uint64_t least_nanoseconds = UINT64_MAX;
    std::uint64_t least_ticks = UINT64_MAX;
    for (int i = 0; i < kIdleWindows; ++i) {
      const std::uint64_t ticks_before = row.sum;
      if (!play(idle)) return false;
      least_nanoseconds = std::min(least_nanoseconds, stage().end.nanoseconds - stage().start.nanoseconds);
      least_ticks = std::min(least_ticks, row.sum - ticks_before);
    }
    result_.own.nanoseconds = static_cast<double>(least_nanoseconds) / static_cast<double>(kIdleCalls);
    result_.own.clock_ticks = static_cast<double>(least_ticks) / static_cast<double>(kIdleCalls);
    return true;
  }

  bool play_windows() {
    Window window;
    const std::uint64_t all = std::max<std::uint64_t>(input_.told_events(), 1);
    for (;;) {
      const Clock::time_point begin = Clock::now();
      const bool has_window = maker_.next(window);
      result_.decoding_seconds += seconds_since(begin);
      if (!has_window) return true;
      room_.expect(window, maker_.peak_bytes());
      share_ = std::min(1.0, static_cast<double>(window.events) / static_cast<double>(all));
      if (!skip_to(window.begin)) return false;
      if (!window.steps.empty()) {
        stage().played = played_;
        if (!reserve(window) || !play(window)) return false;
        add_costs();
        result_.calls += window.calls;
      }
      if (!skip_to(window.time)) return false;
      check(window);
    }
  }

  static replayer::Command command_of(Direction direction, std::uint32_t slot, std::uint64_t size) {
    return {.slot = slot, .code = static_cast<std::uint8_t>(direction), .mark = 0, .row = 0, .size = size};
  }

  static bool is_timed(const replayer::Command& command) {
    return command.code < replayer::kFirstDirection || command.code == static_cast<std::uint8_t>(Direction::kIdle);
  }

  // What the window needs is backed before it, by a window of its own that does not count.
  bool reserve(const Window& window) {
    Window before;
    const auto commands = static_cast<std::uint32_t>(window.steps.size());
    if (maker_.slots_used() > slots_ || commands > commands_) {
      slots_ = std::max(slots_, maker_.slots_used());
      commands_ = std::max(commands_, commands);
      before.steps.push_back({.run = 0, .command = command_of(Direction::kReserve, slots_, commands_)});
    }
    for (const Window::Step& step : window.steps) {
      if (!is_timed(step.command)) continue;
      const std::uint32_t lane = window.runs[step.run].lane;
      if (lane >= rows_.size()) rows_.resize(lane + 1);
      if (rows_[lane].test(step.command.row)) continue;
      rows_[lane].set(step.command.row);
      before.steps.push_back({.run = 0, .command = command_of(Direction::kReserveRow, lane, step.command.row)});
    }
    if (before.steps.empty()) return true;
    before.runs.push_back({.lane = 0, .commands = static_cast<std::uint32_t>(before.steps.size())});
    return play(before);
  }

  // At full speed: the allocator's clock goes on to that moment of the recording, in steps. What the allocator does
  // then is in the processor's time, and in no wall time: the program did something else meanwhile.
  bool skip_to(std::uint64_t moment) {
    if (plan_.window.pace != Pace::kFull || (skipped_to_ && moment <= *skipped_to_)) return true;
    skipped_to_ = moment;
    Window skip;
    skip.runs.push_back({.lane = 0, .commands = 1});
    skip.steps.push_back({.run = 0, .command = command_of(Direction::kSkip, 0, moment * trace::kNanosecondsPerStep)});
    if (!play(skip)) return false;
    add_processor_costs();
    return true;
  }

  bool play(const Window& window) {
    release(window);
    return wait_for_bell();
  }

  // Each run's commands one behind the other; then its thread may begin.
  void release(const Window& window) {
    std::vector<std::uint32_t> at(window.runs.size());
    std::uint32_t begin = 0;
    ++number_;
    for (std::uint32_t run = 0; run < window.runs.size(); ++run) {
      replayer::Lane& lane = stage().lanes[window.runs[run].lane];
      lane.run = run;
      lane.begin = at[run] = begin;
      lane.end = begin += window.runs[run].commands;
      stage().progress[run].commands.store(0, std::memory_order_relaxed);
    }
    for (const Window::Step& step : window.steps) stage().commands[at[step.run]++] = step.command;
    stage().turn.store(0, std::memory_order_relaxed);
    stage().left.store(static_cast<std::uint32_t>(window.runs.size()), std::memory_order_relaxed);
    stage().clock.store(replayer::ClockState::kStopped, std::memory_order_relaxed);
    for (const Window::Run& run : window.runs) {
      std::atomic<std::uint32_t>& word = stage().lanes[run.lane].window;
      word.store(number_, std::memory_order_release);
      replayer::wake_all(word);
    }
  }

  // False if the replayer has ended, or must.
  bool wait_for_bell() {
    for (;;) {
      pollfd watched[3] = {
          {memory_.bell(), POLLIN, 0}, {child_.descriptor(), POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}};
      poll(watched, 3, kTickMilliseconds);
      const double elapsed = seconds_since(begun_);
      std::uint64_t rings = 0;
      if (watched[2].revents != 0 && take_signal()) return false;
      // Before the bell: of many short windows each rings in time.
      if (plan_.time_limit > 0 && elapsed >= plan_.time_limit) {
        result_.cost.ending = Ending::kTimedOut;
        return false;
      }
      if (watched[0].revents != 0 && read(memory_.bell(), &rings, sizeof rings) == sizeof rings) {
        tell_progress(elapsed);
        return true;
      }
      if (watched[1].revents != 0) return false;
      tell_progress(elapsed);
    }
  }

  bool take_signal() {
    signalfd_siginfo received;
    if (read(signals_.descriptor(), &received, sizeof received) != sizeof received) return false;
    result_.cost.ending = Ending::kInterrupted;
    result_.cost.code = static_cast<int>(received.ssi_signo);
    return true;
  }

  void tell_progress(double elapsed) {
    if (elapsed < next_told_) return;
    next_told_ = elapsed + kTickMilliseconds * 1e-3;
    advance_(elapsed, share_);
  }

  void add_costs() {
    played_ += stage().end.nanoseconds - stage().start.nanoseconds;
    ticks_ += stage().end.ticks - stage().start.ticks;
    add_processor_costs();
  }

  void add_processor_costs() {
    const Moment& start = stage().start;
    const Moment& end = stage().end;
    Measurement& cost = result_.cost;
    cost.user_seconds += static_cast<double>(end.user_microseconds - start.user_microseconds) * 1e-6;
    cost.system_seconds += static_cast<double>(end.system_microseconds - start.system_microseconds) * 1e-6;
    cost.minor_faults += end.minor_faults - start.minor_faults;
    cost.major_faults += end.major_faults - start.major_faults;
  }

  void check(const Window& window) {
    wait_for_threads(window.threads);
    const ProcessMemory memory = read_process_memory(child_.pid());
    // What was the most that there ever was has been so in this window, when the replayer's own was what it is now.
    if (memory.peak > peak_)
      result_.cost.peak_rss_bytes = std::max(result_.cost.peak_rss_bytes, memory.peak - memory.shared);
    peak_ = memory.peak;
    result_.cost.peak_rss_bytes = std::max(result_.cost.peak_rss_bytes, memory.own);
    result_.own.bytes = memory.shared;
    Checkpoint checkpoint = {.events = window.events,
                             .recorded_seconds = static_cast<double>(window.time * trace::kNanosecondsPerStep) * 1e-9,
                             .played_seconds = static_cast<double>(played_) * 1e-9,
                             .live_bytes = window.live_bytes,
                             .live_blocks = window.live_blocks,
                             .resident_bytes = memory.own,
                             .recorded_resident = window.recorded_resident,
                             .heap_bytes = heap_of(window, memory),
                             .recorded_heap = window.recorded_heap,
                             .mallinfo = {},
                             .recorded_mallinfo = window.recorded,
                             .snug = {}};
    if (stage().has_snug) checkpoint.snug = stage().snug;
    if (stage().has_mallinfo) std::ranges::copy(stage().mallinfo, checkpoint.mallinfo.begin());
    result_.checkpoints.push_back(checkpoint);
    if (plan_.maps_heap) map_heap(window);
  }

  // Threads stand still: the slots have the address of each block that lives.
  void map_heap(const Window& window) {
    result_.map.begin(window.time * trace::kNanosecondsPerStep);
    for (std::uint32_t slot = 0; slot != maker_.slots_used(); ++slot) {
      const std::uint64_t address = stage().slots[slot].load(std::memory_order_relaxed);
      if (address > replayer::kFailed) result_.map.add(address, maker_.size_in(slot));
    }
  }

  // Only where there is something to hold it against: it goes through the mappings.
  std::optional<std::uint64_t> heap_of(const Window& window, const ProcessMemory& memory) {
    return window.recorded_heap ? heap_.bytes_among(memory.anonymous, false) : std::nullopt;
  }

  // Threads that stay are the allocator's own, and waited for once.
  void wait_for_threads(std::uint32_t threads) {
    const std::string tasks = fmt::format("/proc/{}/task", child_.pid());
    const Clock::time_point until = Clock::now() + kPatienceWithThreads;
    struct stat status{};
    while (stat(tasks.c_str(), &status) == 0 && status.st_nlink > threads + helpers_ + 2) {
      if (Clock::now() >= until) {
        helpers_ = status.st_nlink - threads - 2;
        return;
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  void end_replayer() {
    stage().is_over.store(1, std::memory_order_release);
    std::atomic<std::uint32_t>& word = stage().lanes[0].window;
    word.store(++number_, std::memory_order_release);
    replayer::wake_all(word);
  }

  // Its status. Signal 0 is none.
  int reap_after(int signal) {
    if (signal != 0) kill(child_.pid(), signal);
    int status = 0;
    while (waitpid(child_.pid(), &status, 0) < 0 && errno == EINTR) {
    }
    is_reaped_ = true;
    return status;
  }

  void read_end() {
    Measurement& cost = result_.cost;
    const int status = reap_after(cost.ending == Ending::kExited ? 0 : SIGKILL);
    cost.wall_seconds = cost.ending == Ending::kTimedOut ? seconds_since(begun_) : static_cast<double>(played_) * 1e-9;
    result_.threads = maker_.threads_born();
    result_.peak_live_bytes = maker_.peak_bytes();
    result_.left_out = maker_.left_out();
    result_.is_damaged = input_.is_damaged();
    result_.order_faults = stage().order_faults.load();
    result_.failed_allocations = stage().failed_allocations.load();
    result_.failed_threads = stage().failed_threads.load();
    result_.own_threads = helpers_;
    result_.steers_background = stage().steers_background;
    if (cost.ending != Ending::kExited) return;
    if (WIFSIGNALED(status)) {
      cost.ending = Ending::kSignalled;
      cost.code = WTERMSIG(status);
    } else {
      cost.code = WEXITSTATUS(status);
    }
  }

  void read_ticks() {
    if (played_ != 0) result_.own.ticks_a_nanosecond = static_cast<double>(ticks_) / static_cast<double>(played_);
    for (std::uint32_t row = 1; row < maker_.rows().size(); ++row) {
      std::vector<TickRow> rows;
      for (std::uint32_t lane = 0; lane < rows_.size(); ++lane)
        if (rows_[lane].test(row))
          rows.push_back({.key = maker_.rows()[row], .histogram = stage().histograms[lane][row]});
      add_rows(result_.rows, rows);
    }
  }

  const ReplayPlan& plan_;
  const HeldSignals& signals_;
  const Advance& advance_;
  TraceInput input_;
  WindowMaker maker_;
  Room room_{plan_.window};
  const StageMemory memory_;
  const Clock::time_point begun_;
  const ChildProcess child_;
  HeapMemory heap_{child_.pid()};
  ReplayResult result_;
  std::uint32_t number_ = 0;  // of the window
  std::uint64_t played_ = 0;  // nanoseconds
  std::uint64_t ticks_ = 0;
  std::uint64_t peak_ = 0;
  std::optional<std::uint64_t> skipped_to_;
  double share_ = 0;
  std::uint64_t helpers_ = 0;  // threads of the allocator
  bool is_reaped_ = false;
  double next_told_ = 0;
  // What is backed already: slots, commands, and of each lane the rows that it has had calls for.
  std::uint32_t slots_ = 0;
  std::uint32_t commands_ = 0;
  std::vector<std::bitset<replayer::kMostRows>> rows_;
};

}  // namespace

ReplayResult replay(const ReplayPlan& plan, Command command, const HeldSignals& signals, const Advance& advance,
                    Telling telling) {
  return Replay(plan, std::move(command), signals, advance, telling).run();
}

}  // namespace snug::tool
