#include "process/measured_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace snug::tool {

namespace {

// glibc's sigabbrev_np, of 2.32: null on an older one.
extern "C" [[gnu::weak]] const char* abbreviated_signal(int number) asm("sigabbrev_np");

std::string signal_text(int number) {
  const char* const known = abbreviated_signal != nullptr ? abbreviated_signal(number) : nullptr;
  return known != nullptr ? known : std::to_string(number);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Milliseconds to sleep in poll, rounded up so that a time limit is over when we wake.
int sleep_milliseconds(double elapsed, double time_limit, double tick_seconds) {
  const double left = time_limit > 0 ? std::min(tick_seconds, time_limit - elapsed) : tick_seconds;
  return std::max(0, static_cast<int>(left * 1000) + 1);
}

// Waits until the child has ended by itself or must be ended; fills in the reason in the second case.
void await(const ChildProcess& child, const HeldSignals& signals, Clock::time_point start, double time_limit,
           const Tick& tick, double tick_seconds, Measurement& result) {
  pollfd watched[2] = {{child.descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
  for (;;) {
    poll(watched, 2, sleep_milliseconds(seconds_since(start), time_limit, tick_seconds));
    if (watched[0].revents != 0) return;
    if (watched[1].revents != 0) {
      signalfd_siginfo received;
      if (read(signals.descriptor(), &received, sizeof received) != sizeof received) continue;
      result.ending = Ending::kInterrupted;
      result.code = static_cast<int>(received.ssi_signo);
      return;
    }
    const double elapsed = seconds_since(start);
    if (time_limit > 0 && elapsed >= time_limit) {
      result.ending = Ending::kTimedOut;
      return;
    }
    if (tick) tick(child.pid(), elapsed);
  }
}

// Whether the process, by its line in /proc, is of that group and has not ended.
bool runs_in_group(const std::filesystem::path& process, pid_t group) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // the name before it may hold anything
  if (name_end == std::string::npos) return false;
  char state = 'Z';
  long parent = 0;
  long of = 0;
  return std::sscanf(line.c_str() + name_end + 1, " %c %ld %ld", &state, &parent, &of) == 3 && of == group &&
         state != 'Z' && state != 'X';
}

// Ends what the child, which has ended and has not been waited for, has left in its group; and says how many those
// were. Until it is waited for the group's number can be nobody else's.
std::uint64_t end_left_running(pid_t group) {
  std::uint64_t left = 0;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename();
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && name != std::to_string(group) && runs_in_group(process.path(), group)) ++left;
  }
  kill(-group, SIGKILL);
  return left;
}

}  // namespace

const char* Measurement::ending_name() const {
  switch (ending) {
    case Ending::kExited:
      return "exited";
    case Ending::kSignalled:
      return "signalled";
    case Ending::kTimedOut:
      return "timed out";
    case Ending::kInterrupted:
      return "interrupted";
  }
  return "";
}

std::string Measurement::ending_text() const {
  switch (ending) {
    case Ending::kExited:
      return fmt::format("exit status {}", code);
    case Ending::kSignalled:
      return fmt::format("killed by SIG{}", signal_text(code));
    case Ending::kTimedOut:
      return fmt::format("stopped at the time limit, after {:.1f} s", wall_seconds);
    case Ending::kInterrupted:
      return "interrupted";
  }
  return {};
}

Measurement measure(const Command& command, const HeldSignals& signals, double time_limit, const Tick& tick,
                    double tick_seconds) {
  Measurement result;
  const Clock::time_point start = Clock::now();
  const ChildProcess child(command, signals);
  await(child, signals, start, time_limit, tick, tick_seconds, result);
  const double ended_after = seconds_since(start);
  if (result.ending == Ending::kExited) {
    result.left_running = end_left_running(child.pid());
  } else {
    kill(-child.pid(), SIGKILL);
  }
  int status = 0;
  rusage usage{};
  while (wait4(child.pid(), &status, 0, &usage) < 0 && errno == EINTR) {
  }
  result.wall_seconds = result.ending == Ending::kExited ? ended_after : seconds_since(start);
  result.user_seconds = seconds(usage.ru_utime);
  result.system_seconds = seconds(usage.ru_stime);
  result.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  result.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  result.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  result.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
  result.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  if (result.ending != Ending::kExited) return result;
  if (WIFSIGNALED(status)) {
    result.ending = Ending::kSignalled;
    result.code = WTERMSIG(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace snug::tool
