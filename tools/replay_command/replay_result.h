// What one replay has shown: its costs, what calls took, and what lived and was resident at each checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/measured_process.h"
#include "replay_command/heap_map.h"
#include "replay_command/window_maker.h"

namespace snug::tool {

// Behind a window: all threads stand still.
struct Checkpoint {
  std::uint64_t events = 0;  // of the trace, so far
  double recorded_seconds = 0;
  double played_seconds = 0;
  std::uint64_t live_bytes = 0;  // that were asked for
  std::uint64_t live_blocks = 0;
  std::uint64_t resident_bytes = 0;  // of the process, the replayer's own left out
  std::optional<std::uint64_t> recorded_resident;
  // Of these what HeapMemory counts: here, and when it was recorded.
  std::optional<std::uint64_t> heap_bytes;
  std::optional<std::uint64_t> recorded_heap;
  // The fields of mallinfo2: what the allocator says now, if it has them, and what was recorded.
  trace::MallinfoFields mallinfo;
  trace::MallinfoFields recorded_mallinfo;
  std::optional<replayer::SnugMemory> snug;
};

// Ticks of the calls of one kind; those that the clock itself takes are left out.
struct Ticks {
  std::uint64_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double most = 0;
};

struct TickRow {
  TickRowKey key;
  replayer::TickHistogram histogram;
};

// What the replayer itself takes, measured before the first window.
struct OwnCost {
  double nanoseconds = 0;         // of each call
  double clock_ticks = 0;         // of these, what a call seems to take that does nothing
  double ticks_a_nanosecond = 1;  // of the processor's clock
  std::uint64_t bytes = 0;        // of memory, at the end
};

struct ReplayResult {
  Measurement cost;  // of the time that the clock ran
  std::vector<Checkpoint> checkpoints;
  HeapMap map;  // empty unless the plan asks for it
  std::vector<TickRow> rows;
  OwnCost own;
  std::uint64_t calls = 0;
  std::uint64_t threads = 0;             // that were started
  std::uint64_t own_threads = 0;         // of the allocator
  bool steers_background = false;        // Stage has it
  std::uint64_t peak_live_bytes = 0;     // that were asked for
  std::uint64_t order_faults = 0;        // blocks that were to go and had not come
  std::uint64_t failed_allocations = 0;  // that had not failed when recorded
  std::uint64_t failed_threads = 0;      // that could not be started: the replayer gave up
  bool is_whole = false;                 // the replayer was given all of the trace, and played it
  bool is_damaged = false;               // the trace, as far as it was read
  double decoding_seconds = 0;           // with the clock stopped
  LeftOut left_out;
};

// Adds the histograms of the same operation and size.
void add_rows(std::vector<TickRow>& sum, const std::vector<TickRow>& rows);

// Of rows that `chosen` says; of none if there are none.
enum class Calls : std::uint8_t { kComing, kGoing };
Ticks ticks_of(const std::vector<TickRow>& rows, Calls calls, const OwnCost& own);
Ticks ticks_of(const replayer::TickHistogram& histogram, const OwnCost& own);

}  // namespace snug::tool
