// Recording: what `snug record` collects of a program and of all that it starts. Each process that loads the recorder's
// library brings a ring into the recording's folder; the recording empties the rings and writes a trace for each, all
// into one file, numbered in the order in which they come.
//
//   events written + events in rings == events that happened, while the recording is on
//
// What goes wrong with one process is said in a line, and ends the recording of that process alone; what goes wrong
// with the file ends the recording, and the program runs on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "process/environment.h"
#include "process/temporary_folder.h"
#include "record/process_trace.h"
#include "record/recording_file.h"
#include "record/ring_file.h"

namespace snug::tool {

struct RecordedProcess {
  std::uint32_t number = 0;  // in the file
  pid_t process = 0;
  pid_t forked_from = 0;  // 0: it began by an exec
  std::string program;
  std::string arguments;
  RecordingCounts counts;
};

// What there was to do: nothing, less than what is worth to be at it all the time, or more.
enum class Collected : std::uint8_t { kNothing, kSome, kMuch };

class Recording {
 public:
  // `level`: of the file's compression, 0 for none.
  Recording(std::filesystem::path file, int level, bool with_stacks);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Lets what is started with the environment be recorded, on the allocator of `library`, or its own if that is empty.
  void prepare(Environment& environment, const std::string& recorder, const std::string& library) const;

  // Those that run, and those yet to come.
  void pause();
  void resume();

  // Hands the file what the processes have done by now: a reader sees it.
  void save_all();

  // Marks processes that have ended. What such a process has done is in its ring by then, and its status can be had.
  void mark_ended();
  // Takes what is there, and finishes the traces of processes that were marked.
  Collected collect();
  // Looks for processes that have come. Whether there are any.
  bool discover();
  // The status of one of the processes, before it is collected for the last time.
  void note_exit(pid_t process, int status);
  // Takes what is there once more, and finishes all traces, though some processes may run on; and the file.
  void finish();

  // Those that are finished, by their numbers.
  const std::vector<RecordedProcess>& processes() const { return finished_; }
  const RecordingFile& file() const { return file_; }
  bool has_failed() const { return has_failed_; }
  // Programs that could not be recorded, by what their processes say, each with its reason.
  struct Lost {
    pid_t process = 0;  // 0: it could not tell
    std::string reason;
  };
  const std::vector<Lost>& lost() const { return lost_; }
  // Where the rings are: of memory, as a rule.
  std::filesystem::path room() const { return folder_.path().parent_path(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Running {
    std::uint32_t number;
    RingFile ring;
    std::unique_ptr<ProcessTrace> trace;
    Clock::time_point next_sample;
    Clock::time_point next_save;
    Clock::time_point next_question = {};
    std::optional<int> status = std::nullopt;
    bool has_ended = false;
  };

  // Whether the path is what a process has left that got no ring.
  bool take_lost(const std::filesystem::path& path);
  void begin(RingFile ring);
  void end_for_exec(const RingFile& next);
  // As a static program does that the process has executed without a ring of its own.
  bool finish_if_unrecorded(Running& running);
  // Behind the last event of the program that was executed before.
  void finish_at_exec(Running& running, const std::string& next);
  // What an UserError stops is said to be over. Whether none did.
  template <class Work>
  bool attempt(const std::string& what, Work work);
  // Ends the recording if the file could not be written, and forgets all processes then.
  void end_unless_written();
  enum class After : std::uint8_t { kRuns, kIsOver };
  After collect(Running& running, Collected& most);
  // At most so many.
  static std::size_t take_events(Running& running, std::size_t most);
  // `work(running)` with each; one that it fails with is not recorded further.
  template <class Work>
  void with_each(Work work);
  void ask_allocator(Running& running) const;
  void sample(Running& running) const;
  void save(Running& running) const;
  void finish(Running& running);

  TemporaryFolder folder_;
  const int lock_;  // on the collector's file: the writers ask whether it is held
  RecordingFile file_;
  const bool with_stacks_;
  const ClockReading began_ = ClockReading::now();
  std::uint32_t numbers_ = 0;  // that were given
  bool is_paused_ = false;
  bool is_over_ = false;
  bool has_failed_ = false;
  std::set<std::filesystem::path> given_up_;  // rings that cannot be opened
  std::list<Running> running_;
  std::vector<RecordedProcess> finished_;
  std::vector<Lost> lost_;
};

}  // namespace snug::tool
