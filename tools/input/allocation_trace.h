// AllocationTrace: what a program allocated and freed, in its order, read from a text in the line format that the
// driver of Compact-fit read in 2009. One event a line, its fields separated by single tabs:
//
//   a <TAB> key <TAB> bytes                  allocates a block; the key, hexadecimal, names it while it lives
//   f <TAB> key                              frees it
//   r <TAB> old key <TAB> key <TAB> bytes    reallocates: frees the old block, then allocates the new one
//
// Empty lines, and those that begin with #, are passed over. Every line has an end, so that a trace that was cut off
// is not taken for a whole one.
//
// The trace keeps account of what lives: every event that it hands out can be performed, and
//
//   live blocks == allocated - freed,   each with a key of its own
//
// It is read in a stream: what it holds are the live blocks. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "text/numbered_lines.h"

namespace snug::tool {

struct TraceEvent {
  enum class Kind { kAllocate, kFree, kReallocate };
  Kind kind;
  // The block that goes; of kAllocate, nothing.
  std::uint64_t freed_key = 0;
  std::uint64_t freed_bytes = 0;
  // The block that comes; of kFree, nothing.
  std::uint64_t key = 0;
  std::uint64_t bytes = 0;

  bool frees() const { return kind != Kind::kAllocate; }
  bool allocates() const { return kind != Kind::kFree; }
};

class AllocationTrace {
 public:
  // Bounds that no program reaches, within which no sum of live bytes overflows.
  static constexpr std::uint64_t kLargestBlock = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kMostLiveBytes = std::uint64_t{1} << 62;

  // Goes on from where the lines are; they are the caller's, and say where an event stood.
  explicit AllocationTrace(NumberedLines& lines) : lines_(lines) {}

  // The next event; none at the end of the trace. Throws UserError with the line's number at the first line that is no
  // event, or one that cannot be: the free of a key that names no block, the allocation of one that does.
  std::optional<TraceEvent> next();

  // After the event that next() gave last.
  std::size_t live_blocks() const { return live_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }

 private:
  struct Block {
    std::uint64_t bytes;
    std::uint64_t line;  // of its allocation
  };

  TraceEvent take_event(std::string_view line);
  void free(TraceEvent& event, std::string_view key);
  void allocate(TraceEvent& event, std::string_view key, std::string_view bytes);

  NumberedLines& lines_;
  std::unordered_map<std::uint64_t, Block> live_;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace snug::tool
