#include "record/record_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "input/process_index.h"
#include "library/allocator_catalogue.h"
#include "library/snug_library.h"
#include "print/ignored_signal.h"
#include "print/output_file.h"
#include "print/quantity.h"
#include "print/say.h"
#include "process/child_process.h"
#include "process/temporary_folder.h"
#include "record/leak_reports.h"
#include "record/recording.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

constexpr const char* kExamples = R"(Examples:
  snug record -o job.trace ./job
      Records ./job on its own allocator, with all that it starts: each process, and each program that one of them
      executes, has a number in job.trace. What reads job.trace takes the process that allocates most.
  snug trace info job.trace; snug replay job.trace --process 2
      Which processes are in it, and what they did; one of them replayed.
  snug record --allocator jemalloc -- python3 job.py
      The same on another allocator.
  snug record --stacks -o job.trace ./job; snug trace export job.trace --to collapsed | flamegraph.pl > job.svg
      Also the callers, for flame graphs and pprof.
  snug record --paused ./server
      Records nothing until it is told to: kill -USR1 PROCESS starts, kill -USR2 PROCESS stops, where PROCESS
      is the number of snug record.
  snug record --leaks ./job
      At its end, on standard error: what it never freed, by the stack that allocated it; no file stays.
  snug record --leaks --suppressions lsan.supp --leaks-exit-code 23 ./job
      For a test: ends with 23 if anything was left that the file does not name.
  snug record --leaks ./server
      The same while it runs: kill -USR2 PROCESS, where PROCESS is the number of snug record.

What the program leaves running is recorded, too, until it has ended; SIGTERM to snug record, or Ctrl-C, ends the
recording then, and leaves it running. Meanwhile snug record is the parent of those that have lost their own (as init is
elsewhere: PR_SET_CHILD_SUBREAPER).

Exit status: the program's own; that of --leaks-exit-code if it is 0 and something is never freed; 126 or 127 if it
cannot be executed; 1 if nothing could be recorded; 2 if the file exists; 3 if a part is missing: the file could not be
written further, or a process found no room for its events.)";

// How long the collector sleeps while there is little to collect, or nothing: at first, and at last. A program that
// does nothing but allocate fills its ring in a millisecond or two.
constexpr std::chrono::microseconds kShortestSleep{400};
constexpr std::chrono::microseconds kLongestSleep{5000};

struct Run {
  Recording& recording;
  const HeldSignals& signals;
  pid_t program;       // 0 as soon as it has been reaped: its number may be another's then
  int status = 0;      // of the program, as wait() has it
  int interrupts = 0;  // from the terminal
  bool has_started = true;
  bool has_children = true;
  bool is_over = false;
  LeakReports* leaks = nullptr;  // what SIGUSR2 asks for, if not a pause
};

// Of what lives now.
void say_leaks(Run& run) {
  run.recording.save_all();
  run.leaks->begin();
}

// A terminal sends Ctrl-C to the program as well. A program that goes on is left alone at the second. When it has ended
// and others have not, daemons as a rule, the first of any signal ends the recording.
void take_signals(Run& run) {
  signalfd_siginfo received;
  while (read(run.signals.descriptor(), &received, sizeof received) == sizeof received) {
    const auto signal = static_cast<int>(received.ssi_signo);
    if (signal == SIGUSR1) {
      run.has_started = true;
      run.recording.resume();
    } else if (signal == SIGUSR2 && run.leaks != nullptr) {
      say_leaks(run);
    } else if (signal == SIGUSR2) {
      run.recording.pause();
    } else if (signal == SIGCHLD) {
      continue;
    } else if (run.program == 0) {
      run.is_over = true;
    } else if (signal == SIGINT && received.ssi_code == SI_KERNEL) {
      run.is_over = ++run.interrupts >= 2;
    } else if (received.ssi_code != SI_KERNEL) {
      kill(run.program, signal);
    }
  }
}

// A recorded process that loses its parent becomes a child of the tool, so that none is left behind. One that has ended
// keeps its number until its ring has been found, however short it lived.
void reap(Run& run) {
  for (;;) {
    siginfo_t ended{};
    const int error = waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT);
    run.has_children = error == 0 || errno != ECHILD;
    if (error != 0 || ended.si_pid == 0) return;
    run.recording.discover();
    // A Ctrl-C that has ended the program is not one that came when it had ended.
    if (ended.si_pid == run.program) take_signals(run);
    int status = 0;
    waitpid(ended.si_pid, &status, 0);
    if (run.leaks != nullptr && run.leaks->note_exit(ended.si_pid, status)) {
      if (run.leaks->take_wish()) say_leaks(run);
      continue;
    }
    if (ended.si_pid == run.program) {
      run.status = status;
      run.program = 0;
    }
    run.recording.note_exit(ended.si_pid, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
}

void collect_until_end(Run& run) {
  std::chrono::microseconds sleep = kShortestSleep;
  while (run.has_children && !run.is_over) {
    run.recording.mark_ended();
    reap(run);
    const Collected collected = run.recording.collect();
    if (collected != Collected::kNothing) sleep = kShortestSleep;
    if (collected != Collected::kMuch) {
      const timespec time{.tv_sec = 0, .tv_nsec = sleep.count() * 1000};
      pollfd watched{.fd = run.signals.descriptor(), .events = POLLIN, .revents = 0};
      ppoll(&watched, 1, &time, nullptr);
      sleep = std::min(sleep * 2, kLongestSleep);
    }
    take_signals(run);
  }
}

// Each process that is recorded takes a descriptor. Gives back the limit as it was.
rlimit raise_file_limit() {
  rlimit usual{};
  getrlimit(RLIMIT_NOFILE, &usual);
  const rlimit raised = {.rlim_cur = usual.rlim_max, .rlim_max = usual.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  return usual;
}

// As the recording's readers have it (input/process_index.h).
const RecordedProcess& most_of(const std::vector<RecordedProcess>& processes) {
  return *std::ranges::max_element(processes, {}, [](const auto& process) { return process.counts.allocated_bytes; });
}

std::string counts_text(const RecordingCounts& counts) {
  std::string text = fmt::format("{} events, at most {} live", value_text(static_cast<double>(counts.events), kCount),
                                 value_text(static_cast<double>(counts.peak_bytes), kBytes));
  if (counts.missed_frees != 0) text += fmt::format(", {} frees were not seen", counts.missed_frees);
  if (counts.unfinished != 0) text += fmt::format(", {} calls were cut short", counts.unfinished);
  return text;
}

// One line of the recording, if it stays; one of the process that what reads it takes; and one of each that lacks
// something.
void print_summary(const std::string& file, std::uint64_t bytes, const std::vector<RecordedProcess>& processes) {
  const auto lacks = [](const RecordedProcess& process) {
    return process.counts.missed_frees != 0 || process.counts.unfinished != 0;
  };
  const RecordedProcess& most = most_of(processes);
  const auto line = [](const RecordedProcess& process, const char* what) {
    say("snug record: {}{} (process {}): {}: {}\n", what, process.number, process.process,
        command_text(process.program, process.arguments), counts_text(process.counts));
  };
  const bool is_one = processes.size() == 1;
  if (!file.empty())
    say("snug record: {}: {} process{}, {}{}\n", printable(file), processes.size(), is_one ? "" : "es",
        value_text(static_cast<double>(bytes), kBytes), is_one ? "" : "; `snug trace info` lists them");
  line(most, is_one ? "number " : "most is allocated by number ");
  for (const RecordedProcess& process : processes)
    if (lacks(process) && process.number != most.number) line(process, "number ");
}

// A program that has been executed in a lost process is lost as well.
std::string lost_text(const std::vector<Recording::Lost>& lost, const std::string& room) {
  std::string first = lost.front().process == 0 ? "" : fmt::format("process {}: ", lost.front().process);
  first += printable(lost.front().reason);
  const std::string what = lost.size() == 1 ? "a program is" : fmt::format("{} programs are", lost.size());
  return fmt::format("snug record: {} missing in the recording, {}{}; each that runs takes {} in {}\n", what,
                     lost.size() == 1 ? "" : "the first of ", first,
                     value_text(static_cast<double>(sizeof(recorder::Ring)), kBytes), room);
}

// Names of files may be no UTF-8. `file`: empty if it does not stay. `leaks`: may be null.
std::string json_of(const std::string& file, std::uint64_t bytes, const std::vector<RecordedProcess>& processes,
                    const std::vector<Recording::Lost>& lost, const LeakReports* leaks) {
  auto all = nlohmann::ordered_json::array();
  for (const RecordedProcess& process : processes)
    all.push_back({{"number", process.number},
                   {"process", process.process},
                   {"forked_from", process.forked_from},
                   {"program", process.program},
                   {"arguments", process.arguments},
                   {"events", process.counts.events},
                   {"allocations", process.counts.allocations},
                   {"allocated_bytes", process.counts.allocated_bytes},
                   {"peak_bytes", process.counts.peak_bytes},
                   {"file_bytes", process.counts.bytes},
                   {"found_blocks", process.counts.found_blocks},
                   {"missed_frees", process.counts.missed_frees},
                   {"unfinished_calls", process.counts.unfinished}});
  nlohmann::ordered_json json = {
      {"file", file.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(file)}, {"file_bytes", bytes}};
  if (!processes.empty()) json["most"] = most_of(processes).number;
  json["processes"] = all;
  json["lost"] = nlohmann::ordered_json::array();
  for (const Recording::Lost& one : lost) json["lost"].push_back({{"process", one.process}, {"reason", one.reason}});
  if (leaks != nullptr) json["leaks"] = leaks->said();
  return json_text(json, 2) + "\n";
}

}  // namespace

RecordCommand::RecordCommand(CLI::App& app, const std::vector<std::string>& program,
                             ExpectSuppressions expect_suppressions)
    : program_(program), expect_suppressions_(expect_suppressions) {
  command_ = app.add_subcommand("record",
                                "snug record [options] program [arguments...]\n"
                                "Record what a program, and all that it starts, allocates and frees: in one file");
  command_->footer(kExamples);
  file_option_ = command_
                     ->add_option("-o,--output", file_,
                                  "The recording, with all processes; snug.trace unless given, and none with --leaks")
                     ->type_name("FILE");
  command_->add_flag("--force", overwrites_, "Overwrite a file that exists");
  auto* allocator =
      command_->add_option("--allocator", allocator_, "Record on this allocator, instead of the program's own")
          ->type_name("NAME|PATH");
  command_
      ->add_option("--library", library_, "Of --allocator snug: the libsnug.so, instead of the one beside this tool")
      ->needs(allocator)
      ->type_name("PATH");
  command_->add_option("--level", level_, "Compression of the file by zstd; 0: none")
      ->check(number_within(0, 19))
      ->capture_default_str()
      ->type_name("N");
  command_->add_flag("--stacks", with_stacks_, "Also the callers: the stack of each allocation, which takes time");
  command_
      ->add_option("--json", json_file_,
                   "Where to write, as JSON, what was recorded of which process; - is standard output")
      ->type_name("FILE");
  command_->add_flag("--paused", is_paused_, "Record nothing before SIGUSR1");
  auto* leaks = command_->add_flag(
      "--leaks", says_leaks_, "Say what is never freed, by stack, at the end, and at each SIGUSR2: implies --stacks");
  command_
      ->add_option("--suppressions", suppressions_,
                   "What is never freed on purpose: lines leak:PATTERN, as LeakSanitizer has them")
      ->needs(leaks)
      ->type_name("FILE");
  command_
      ->add_option("--leaks-exit-code", leaks_exit_code_,
                   "The exit status if something is never freed and the program's is 0; 0, its own, unless given")
      ->needs(leaks)
      ->check(number_within(0, 255))
      ->type_name("N");
}

int RecordCommand::execute() const {
  if (program_.empty()) throw UserError("snug record: name a program, as in: snug record ls -l");
  if (!library_.empty() && !allocator_.starts_with("snug"))
    throw UserError(fmt::format("--library is of --allocator snug, not of {}", printable(allocator_)));
  Allocator allocator;
  if (!allocator_.empty())
    allocator = find_allocator(allocator_, allocator_.starts_with("snug") ? find_snug_library(library_) : "");
  Command command{
      .arguments = program_, .environment = Environment::current(), .input = {}, .output = {}, .errors = {}};
  command.huge_pages = allocator.huge_pages;
  const int status = record(command, allocator.library);
  if (WIFSIGNALED(status)) end_by_signal(WTERMSIG(status));
  return WEXITSTATUS(status);
}

// The program's status, as wait() has it.
int RecordCommand::record(Command& command, const std::string& library) const {
  std::optional<TemporaryFolder> folder;
  if (says_leaks_ && file_option_->count() == 0) folder.emplace();
  const std::string kept = folder ? "" : file_;
  const std::string file = folder ? (folder->path() / "leaks.trace").string() : file_;
  std::error_code none;
  const bool is_device = fs::exists(file, none) && !fs::is_regular_file(file, none);
  const bool is_one_file =
      json_file_ != kStandardOutput && !json_file_.empty() && !is_device && names_one_file(json_file_, file);
  // A recording that is called - is a file.
  if (is_one_file || (leads_to_output(json_file_) && leads_to_output(fs::absolute(file, none).string())))
    throw UserError(fmt::format("-o and --json name one file, '{}'", printable(file)));
  expect_writable(file, overwrites_ ? Existing::kOverwrite : Existing::kKeep);
  if (says_leaks_ && fs::exists(file) && !fs::is_regular_file(file))
    throw UserError(fmt::format("'{}' is no file: --leaks reads what it has recorded", printable(file)));
  if (!suppressions_.empty()) expect_suppressions_(suppressions_);
  Recording recording(file, level_, with_stacks_ || says_leaks_);
  if (is_paused_) recording.pause();
  recording.prepare(command.environment, find_recorder_library(), library);
  const HeldSignals signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD});
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  command.open_files = raise_file_limit();
  const ChildProcess child(command, signals);
  // The tool does not die of what it says to nobody, or writes beyond the limit on the length of files: there is a
  // folder to be taken away. Not before the program has the signals as they were.
  const IgnoredSignal pipe(SIGPIPE);
  const IgnoredSignal long_file(SIGXFSZ);
  std::optional<LeakReports> leaks;
  if (says_leaks_) leaks.emplace(file, suppressions_, signals);
  Run run{.recording = recording, .signals = signals, .program = child.pid(), .has_started = !is_paused_};
  if (leaks) run.leaks = &*leaks;
  collect_until_end(run);
  recording.finish();
  if (!run.has_started) say("snug record: --paused, and no SIGUSR1 came: no allocation has been recorded\n");
  const std::vector<RecordedProcess>& processes = recording.processes();
  if (!processes.empty()) print_summary(kept, recording.file().bytes(), processes);
  const bool are_told = !leaks || processes.empty() || leaks->finish();
  if (!json_file_.empty())
    write_output(json_file_,
                 json_of(kept, recording.file().bytes(), processes, recording.lost(), leaks ? &*leaks : nullptr));
  if (!recording.lost().empty()) say("{}", lost_text(recording.lost(), recording.room()));
  const bool is_whole = !recording.has_failed() && recording.lost().empty();
  const bool has_some = !processes.empty() || recording.file().bytes() != 0;
  if (!is_whole) return (has_some ? kExitDamaged : EXIT_FAILURE) << 8;  // as wait() would tell it
  if (!are_told) return EXIT_FAILURE << 8;
  if (run.status == 0 && leaks && !processes.empty() && leaks->leaked_blocks() != 0) return leaks_exit_code_ << 8;
  if (has_some) return run.status;
  throw UserError(fmt::format("nothing was recorded; `snug doctor {}` tells what stands in the way", program_.front()),
                  EXIT_FAILURE);
}

}  // namespace snug::tool
