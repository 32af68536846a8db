// WindowMaker: the events of a trace, in its order, as windows of commands for the replayer (replay/stage.h).
//
//   commands of a thread keep its order;  an event that took a turn passes one;
//   a thread that uses a block waits for the one that used it before, if that was another thread in this window
//
// Each wait is for what stands before it in the trace's order, so that no threads wait for each other.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "input/trace_input.h"
#include "replay/stage.h"
#include "replay_command/slot_table.h"
#include "trace/event.h"
#include "trace/sample_account.h"

namespace snug::tool {

enum class Pace : std::uint8_t { kFull, kRecorded };

struct WindowOptions {
  replayer::Touch touch = replayer::Touch::kAll;
  // Of blocks from so many bytes on what the trace says is written, when it says so. Others are written as `touch`
  // says.
  std::uint64_t told_from = UINT64_MAX;
  Pace pace = Pace::kFull;
  std::uint64_t events = 1 << 19;   // of one window, at most
  std::uint64_t time = UINT64_MAX;  // of the recording, in steps: less of it in one window
  // Frees and reallocations are told the size before, for heaps that do not know it; and reallocations that had failed
  // are left out, since a block that such a heap gives now would have another size than is told.
  bool tells_sizes = false;
};

// What a row of histograms is of: calls of one operation, of blocks of one size.
struct TickRowKey {
  trace::Operation operation = trace::Operation::kNone;  // kNone: the replayer's own cost, or of all that have no row
  std::uint64_t most = 0;                                // bytes of a block: above half of it, and no more; 0 is 0
};

struct Window {
  struct Run {
    std::uint32_t lane;
    std::uint32_t commands;
  };
  struct Step {
    std::uint32_t run;
    replayer::Command command;
  };
  std::vector<Run> runs;
  std::vector<Step> steps;
  std::uint64_t begin = 0;  // of the recording, in steps, at its first event
  // Behind it.
  std::uint64_t events = 0;  // of the trace so far
  std::uint64_t calls = 0;   // of this window: steps that call the allocator
  std::uint64_t time = 0;    // of the recording, in steps
  std::uint64_t live_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint32_t threads = 0;                       // that live, of the trace
  std::optional<std::uint64_t> recorded_resident;  // if a sample stands at its end
  std::optional<std::uint64_t> recorded_heap;      // likewise
  trace::MallinfoFields recorded;                  // likewise
};

// What there is more in the trace than its replay.
struct LeftOut {
  std::uint64_t mappings = 0;    // mmap, munmap, mremap and brk of the program
  std::uint64_t impossible = 0;  // blocks that go, or are asked about, and are not there
  std::uint64_t lost = 0;        // the recorder says
};

class WindowMaker {
 public:
  // The input outlives it.
  WindowMaker(TraceInput& input, const WindowOptions& options);

  // False behind the last. Throws UserError if the trace asks for more threads or blocks than there is room for.
  bool next(Window& window);

  std::uint32_t slots_used() const { return slots_.slots_used(); }
  // Of the block that has the slot.
  std::uint64_t size_in(std::uint32_t slot) const { return slots_.size_in(slot); }
  const std::vector<TickRowKey>& rows() const { return rows_; }
  const LeftOut& left_out() const { return left_out_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint32_t threads_born() const { return threads_born_; }

 private:
  struct Thread {
    std::uint32_t lane = 0;
    std::uint32_t window = 0;  // in which `run` is its run
    std::uint32_t run = 0;
    std::uint64_t told_until = 0;  // the time that it has last waited for
    SlotTable::FreedSlots freed = {};
  };

  bool has_next();
  void take(const trace::Event& event);
  void take_sample(const trace::Event& event);
  Thread& thread_of(std::uint32_t number);
  Thread& give_birth(std::uint32_t number, std::uint32_t parent);
  void end_thread(std::uint32_t number);

  void allocate(Thread& thread, const trace::Event& event);
  void reallocate(Thread& thread, const trace::Event& event);
  void free(Thread& thread, const trace::Event& event);
  void ask(Thread& thread, const trace::Event& event);
  void touch(Thread& thread, const trace::Event& event);

  void keep_time(Thread& thread, const trace::Event& event);
  // Before the command that is at the slot.
  void keep_order(Thread& thread, const trace::Event& event, std::optional<std::uint32_t> slot);
  void call(Thread& thread, const trace::Event& event, std::optional<std::uint32_t> slot, std::uint64_t size_of_block,
            std::uint8_t mark);
  void note_use(const Thread& thread, std::uint32_t slot);
  void direct(Thread& thread, replayer::Direction direction, std::uint32_t slot, std::uint64_t size);
  void add(Thread& thread, const replayer::Command& command);
  bool has_room() const;
  std::uint8_t mark_if_told(std::uint64_t size) const {
    return size >= options_.told_from ? replayer::kUntouched : std::uint8_t{0};
  }
  std::uint16_t row_of(trace::Operation operation, std::uint64_t size);

  TraceInput& input_;
  const WindowOptions options_;
  Window* window_ = nullptr;
  std::uint32_t number_ = 0;  // of the window
  std::uint32_t turns_ = 0;   // in it
  bool is_at_sample_ = false;
  trace::Event next_;  // that was read, and belongs to the next window
  bool has_read_ = false;
  std::optional<std::uint64_t> recorded_heap_;  // of the sample of kResident that comes next
  trace::MallinfoFields recorded_fields_;       // of a sample of the allocator that has not ended
  std::uint64_t events_ = 0;
  std::uint64_t time_ = 0;
  std::uint64_t peak_bytes_ = 0;
  SlotTable slots_;
  std::unordered_map<std::uint32_t, Thread> threads_;  // those that live, and the first
  std::vector<std::uint32_t> free_lanes_;
  // Of threads that have ended in this window: no other thread waits for that before the window's end.
  std::vector<std::uint32_t> left_lanes_;
  SlotTable::FreedSlots freed_by_ended_;
  std::uint32_t lanes_used_ = 1;
  std::uint32_t threads_born_ = 0;
  std::vector<TickRowKey> rows_;
  std::array<std::array<std::uint16_t, 66>, trace::kOperations> row_numbers_ = {};
  LeftOut left_out_;
};

}  // namespace snug::tool
