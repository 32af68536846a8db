// TraceInput: a trace that a command reads, with what is wrong with it said on standard error as it is found: one line
// for each fault, file and offset first, then how many more there were.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trace/chunk_directory.h"
#include "trace/damage.h"
#include "trace/source.h"
#include "trace/trace_reader.h"

namespace snug::tool {

// What is said on standard error: of damage, and on a terminal how far it is.
enum class Telling : std::uint8_t { kAll, kDamage, kNothing };

class TraceInput {
 public:
  // Throws UserError if the file cannot be read, or is no trace.
  explicit TraceInput(const std::string& path, Telling telling = Telling::kAll);
  // Closes with a line on what was passed over, if anything was.
  ~TraceInput();
  TraceInput(const TraceInput&) = delete;
  TraceInput& operator=(const TraceInput&) = delete;

  // False behind the last event. On a terminal it shows how far it is, and how long the rest may take.
  bool next(trace::Event& event);

  const std::string& path() const { return path_; }
  const std::string& facts() const { return facts_; }
  // The value of the first fact of that key.
  std::optional<std::string> fact(std::string_view key) const;
  const trace::ChunkDirectory& directory() const { return *directory_; }
  const trace::Damage& damage() const { return damage_; }
  const trace::TraceReader& reader() const { return *reader_; }
  std::uint64_t bytes() const { return source_->size(); }
  // Events that the headers of chunks tell of: all, but for those of chunks that nobody has finished.
  std::uint64_t told_events() const;
  // Bytes of events before compression, and chunk flags that any chunk has.
  std::uint64_t plain_bytes() const;
  std::uint16_t chunk_flags() const;

 private:
  void show_progress();

  std::string path_;
  std::unique_ptr<trace::Source> source_;
  trace::Damage damage_;
  std::uint64_t told_ = 0;
  std::unique_ptr<trace::ChunkDirectory> directory_;
  std::string facts_;
  std::unique_ptr<trace::TraceReader> reader_;
  std::uint64_t events_ = 0;
  bool shows_progress_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace snug::tool
