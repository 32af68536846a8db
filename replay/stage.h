// Stage: the memory that `snug replay` and the replayer share. `snug replay` reads the trace and writes a *window* of
// it here as commands; the replayer, another process, carries them out on the allocator under test, which serves no
// other requests there. All that the replayer needs lies here, so that it has no heap and all its memory is shared
// memory, distinct from the allocator's.
//
//   Stage | lanes | progress of runs | commands | slots: addresses of live blocks | histograms, by lane and row
//
// The terms: a *run* is what one thread does in a window. A *lane* is the place of a live thread; a lane is used again
// in a later window. A *slot* is the place of a block's address.
//
//   threads wait for windows; the window is over when `left` == 0; then no thread reads or writes but the last one
//
// Between windows `snug replay` owns the whole stage; in a window a lane belongs to its thread, a slot to the thread
// that has the turn by the commands.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "replay/tick_histogram.h"

namespace snug::replayer {

// Codes beside those of trace::Operation.
enum class Direction : std::uint8_t {
  kBegin = 0xe0,  // nothing: the thread has begun
  kEnd,           // the thread ends
  kSpawn,         // starts the thread of lane `slot`
  kTurn,          // waits for turn `size` of the window, and starts the next turn
  kAwait,         // waits until run `slot` has done `size` commands
  kUntil,         // waits until the recording's clock shows `size` nanoseconds
  kSkip,          // the allocator's clock goes on to `size` nanoseconds of the recording, unless it is there already
  kTold,          // `size` is what the next command has no room for: an odd alignment, the size before, where to begin
  kIdle,          // timed like a call, but calls nothing: what the replayer itself costs
  kReserve,       // backs what the next window needs: slots up to `slot`, and so many commands as `size` says
  kReserveRow,    // … and row `size` of the lane `slot`
};
inline constexpr std::uint8_t kFirstDirection = 0xe0;

inline constexpr std::size_t kPage = 4096;  // of the OS

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;  // the null pointer

struct Command {
  std::uint32_t slot;
  std::uint8_t code;  // of trace::Operation, or a Direction
  std::uint8_t mark;
  std::uint16_t row;  // of the histograms
  std::uint64_t size;
};
static_assert(sizeof(Command) == 16);

// A command's mark: its alignment, as its logarithm plus one; 0 is none; kToldAlignment: a kTold command has given it.
inline constexpr std::uint8_t kAlignmentMask = 0x3f;
inline constexpr std::uint8_t kToldAlignment = 0x3f;
inline constexpr std::uint8_t kUntouched = 0x40;  // the new block is not written: kTouched says later what is
inline constexpr std::uint8_t kByteAPage = 1;     // of kTouched: of each kPage bytes the first is written, and no more
inline constexpr std::uint8_t kFromNull = 1;      // of a reallocation: there was no block before
inline constexpr std::uint8_t kRefused = 0x80;    // it failed when it was recorded: the new block is freed at once

// Values of a slot instead of an address.
inline constexpr std::uint64_t kEmpty = 0;
inline constexpr std::uint64_t kFailed = 1;  // the allocator had none to give

inline constexpr std::uint32_t kMostLanes = 8192;
inline constexpr std::uint32_t kMostRows = 512;
inline constexpr std::uint32_t kMostRuns = 1 << 16;
inline constexpr std::uint32_t kMostCommands = 1 << 21;
inline constexpr std::uint32_t kMostSlots = std::uint32_t{1} << 28;

enum class Touch : std::uint32_t { kNone, kFirst, kAll };

// What is under test: the malloc that the replayer is preloaded with, or a heap that is none (replay/).
enum class Component : std::uint32_t { kNone, kCell, kPool, kCompact };

struct ComponentOptions {
  Component component;
  std::uint64_t region_bytes;  // of cells
  std::uint64_t not_full;      // kappa of the compacting heap: pages of a class that may have a free block
};

inline constexpr std::uint32_t kNoWindow = 0;

// The place of a thread. `window` is stored last, and the thread waits for it; a thread that ends leaves kNoWindow.
struct alignas(64) Lane {
  std::atomic<std::uint32_t> window;
  std::uint32_t run;
  std::uint32_t begin;  // of the run's commands
  std::uint32_t end;
};

struct alignas(64) Progress {
  std::atomic<std::uint32_t> commands;
};

// What the process had used at a moment of a window.
struct Moment {
  std::uint64_t nanoseconds;  // CLOCK_MONOTONIC
  std::uint64_t ticks;
  std::uint64_t user_microseconds;
  std::uint64_t system_microseconds;
  std::uint64_t minor_faults;
  std::uint64_t major_faults;
};

// Fields of snug_stats, in bytes.
struct SnugMemory {
  std::uint64_t in_use;    // usable bytes of live blocks
  std::uint64_t large;     // of these, in large blocks
  std::uint64_t in_slabs;  // spans held as slabs, free slots and caches included
  std::uint64_t cached;
  std::uint64_t retained;  // empty pages that may be backed
  std::uint64_t metadata;
};

enum class ClockState : std::uint32_t { kStopped, kStarting, kRuns };

inline constexpr std::uint64_t kStageMagic = 0x3430656761747372;  // "rstage04"

struct Stage {
  std::uint64_t magic;
  int bell;  // a descriptor, written to when a window is over
  Touch touch;
  ComponentOptions component;

  // Data of the window, written by `snug replay`.
  std::uint64_t played;                // nanoseconds of all windows before
  std::atomic<std::uint32_t> is_over;  // there is no further window

  alignas(64) std::atomic<std::uint32_t> turn;
  alignas(64) std::atomic<std::uint32_t> left;  // runs that have not ended
  alignas(64) std::atomic<ClockState> clock;
  Moment start;  // when the first thread began
  Moment end;    // when the last thread ended

  // The allocator's statistics after the window, by the fields of mallinfo2.
  bool has_mallinfo;
  std::uint64_t mallinfo[10];
  // The same of snug_stats, if the allocator is snug.
  bool has_snug;
  SnugMemory snug;
  bool steers_background;  // snug's background thread makes the rounds for which time was skipped

  // Counts of faults, from the beginning.
  std::atomic<std::uint64_t> order_faults;        // a block was to be freed that had not been allocated
  std::atomic<std::uint64_t> failed_allocations;  // that had not failed when recorded
  std::atomic<std::uint64_t> failed_threads;      // that could not be started

  Lane lanes[kMostLanes];
  Progress progress[kMostRuns];
  Command commands[kMostCommands];
  std::atomic<std::uint64_t> slots[kMostSlots];
  TickHistogram histograms[kMostLanes][kMostRows];
};

}  // namespace snug::replayer
