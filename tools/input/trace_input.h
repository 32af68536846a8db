// TraceInput: a trace that a command reads, with what is wrong with it said on standard error as it is found: one line
// for each fault, file and offset first, then how many more there were.
//
// Of a recording of several processes it reads one: the one that is asked for, or else the one that allocates most.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "input/process_index.h"
#include "trace/chunk_directory.h"
#include "trace/damage.h"
#include "trace/source.h"
#include "trace/trace_reader.h"

namespace snug::tool {

struct TraceMoment;

// What is said on standard error: of damage; and of all, which process was chosen where none was asked for, and on a
// terminal how far it is.
enum class Telling : std::uint8_t { kAll, kDamage, kNothing };

class TraceInput {
 public:
  // `choice`: which process, as ProcessIndex::find() has it; empty: the one that allocates most. Throws UserError if
  // the file cannot be read, is no trace, or has no such process.
  explicit TraceInput(const std::string& path, Telling telling = Telling::kAll, const std::string& choice = {});
  // Closes with a line on what was passed over, if anything was.
  ~TraceInput();
  TraceInput(const TraceInput&) = delete;
  TraceInput& operator=(const TraceInput&) = delete;

  // False behind the last event. On a terminal it shows how far it is, and how long the rest may take.
  bool next(trace::Event& event);

  const std::string& path() const { return path_; }
  const ProcessIndex& index() const { return *index_; }
  const TracedProcess& process() const { return *process_; }
  // From now on that process of the index is read, from its begin.
  void choose(const TracedProcess& process);
  // From now on the trace ends at that moment.
  void end_at(const TraceMoment& moment);
  bool ends_early() const { return end_ != nullptr; }
  // What was chosen where nobody has asked, in a line; empty of a trace of one process.
  std::string choice_text() const;

  const std::string& facts() const { return process_->facts; }
  std::optional<std::string> fact(std::string_view key) const { return process_->fact(key); }
  const trace::ChunkDirectory& directory() const { return directories_.at(process_->number); }
  const trace::Damage& damage() const { return damage_; }
  const trace::TraceReader& reader() const { return *reader_; }
  // Of the file, or of what the process has in it.
  std::uint64_t bytes() const { return index_->processes().size() == 1 ? source_->size() : process_->file_bytes; }
  bool is_damaged() const { return damage_.faults() != 0; }
  // Events that the headers of chunks tell of: all, but for those of chunks that nobody has finished.
  std::uint64_t told_events() const;
  // Throws UserError if there are none: what needs blocks has nothing to say of a trace without any event.
  void expect_events();
  // Bytes of events before compression, and chunk flags that any chunk has.
  std::uint64_t plain_bytes() const;
  std::uint16_t chunk_flags() const;

 private:
  void show_progress();

  std::string path_;
  std::unique_ptr<trace::Source> source_;
  trace::Damage damage_;
  std::uint64_t told_ = 0;
  ProcessIndex::Directories directories_;
  std::unique_ptr<ProcessIndex> index_;
  const TracedProcess* process_ = nullptr;
  std::unique_ptr<trace::TraceReader> reader_;
  std::uint64_t events_ = 0;  // that were read, of the chosen process
  std::unique_ptr<const TraceMoment> end_;
  bool shows_progress_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace snug::tool
