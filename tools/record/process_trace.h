// ProcessTrace: one process's trace, made of the events of its ring in their order. It knows which block lies at which
// address, and so names blocks by identities that are never used again; and it counts the turns that the order of a
// trace consists of (docs/trace-format.md).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "library/heap_memory.h"
#include "record/block_table.h"
#include "record/mallinfo_slots.h"
#include "record/ring_clock.h"
#include "record/stack_table.h"
#include "record/touched_blocks.h"
#include "recorder/ring.h"
#include "trace/event.h"
#include "trace/trace_file.h"

namespace snug::tool {

// What was seen besides the events.
struct RecordingCounts {
  std::uint64_t events = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;  // as weighed_size() has it
  std::uint64_t peak_bytes = 0;       // asked for, of blocks that lived at a time
  std::uint64_t found_blocks = 0;     // that were there before the recording
  std::uint64_t missed_frees = 0;     // blocks that lost their address to another one, without a free
  std::uint64_t unfinished = 0;       // calls in which the process was killed
  std::uint64_t bytes = 0;            // in the file
};

class ProcessTrace {
 public:
  // `number`: among the processes of the file. `level`: of compression, 0 for none. The file and the ring outlive the
  // trace.
  ProcessTrace(trace::ChunkFile& chunks, std::uint32_t number, const recorder::Ring& ring, const RingClock& clock,
               int level, const std::string& facts);

  // The ring's events, in their order. Of an event that is expected, what is looked up is fetched meanwhile.
  void expect(const recorder::RingEvent& event) const { blocks_.prefetch(event.address); }
  void take(const recorder::RingEvent& event);

  // A thread tells of its end before libc has done with it, which may free what it holds for the thread. So the end
  // stands in the trace only when the kernel knows the thread no more, and all that the ring held by then was taken.
  void mark_gone_threads();
  // Adds what has waited for events of the ring that are taken by now.
  void catch_up();
  // How many events of the ring may be taken before that is to be done again.
  std::uint64_t events_before_waiting() const;

  // What nobody but the collector knows. Times are those of clock(). Behind a pause no block is known any more: what
  // is named again was found.
  void pause(std::uint64_t time);
  void resume(std::uint64_t time);
  // Stands behind the events with lower tickets; of what comes later, none may have been added with a higher one.
  void sample(std::uint64_t time, trace::Measure measure, std::uint64_t value, std::uint64_t ticket);
  // Looks which pages of large blocks were touched. They are told with those blocks that live at the ticket's place.
  void look_at_blocks(std::uint64_t time, std::uint64_t ticket);
  // How long mallinfo2 took when it was called last; 0 if it was not.
  std::uint64_t mallinfo_steps() const { return mallinfo_steps_; }
  void exec(const std::string& program);
  void exit(int status);
  // Hands to the file what is older than a second. To be called once a second or so: then at most two seconds are lost,
  // no matter which process is killed.
  void save(std::uint64_t time);
  // Hands all to the file: a reader sees then what was taken of the ring by now.
  void save_all();
  // Nothing comes any more. `unfinished`: calls that had begun.
  void finish(std::uint64_t unfinished);

  RingClock& clock() { return clock_; }
  // Knows the mappings that the events so far have told of.
  HeapMemory& heap() { return heap_; }
  const RecordingCounts& counts() const { return counts_; }

 private:
  struct Thread {
    std::uint64_t number = 1;  // of the next block that it is given
    // Of the reallocation that is under way.
    BlockTable::Placed goes;
    std::uint64_t address = 0;
    std::uint64_t system_id = 0;
    std::uint64_t ended_at = 0;
  };
  // An event that stands behind those of the ring's tickets below this one.
  struct Waiting {
    std::uint64_t ticket;
    trace::Event event;
  };

  // `rest`: what stood in the slot behind, of an event that takes two.
  void take_whole(const recorder::RingEvent& event, const recorder::RingEvent& rest);
  void free_inside(recorder::RingEvent event);
  void begin_reallocation(std::uint32_t thread, const recorder::RingEvent& event);
  void end_reallocation(trace::Event& told, std::uint64_t address);
  void define(trace::Event definition);
  void note_mapping(const trace::Event& told);
  void add_mallinfo();
  void add_waiting(const trace::Event& event);
  void add_touched(std::uint32_t thread, std::uint64_t time, trace::BlockId block, const TouchedBytes& bytes);
  trace::BlockId add(trace::Event& told);
  void add_of_process(trace::Event told, std::uint64_t time);
  std::uint64_t next_ticket() const;
  void add_later(const trace::Event& told, std::uint64_t ticket);
  trace::Event end_of_thread(std::uint32_t thread) const;
  Thread& thread_of(std::uint32_t thread);

  // The block at an address. One that nobody has seen come is told as found.
  enum class Then { kGoes, kStays };
  BlockTable::Placed placed_at(const recorder::RingEvent& event, Then then);
  void put_block(std::uint64_t address, BlockTable::Placed placed);
  void come(std::uint64_t bytes);
  void forget_blocks();

  const recorder::Ring& ring_;
  RingClock clock_;
  trace::TraceFile file_;
  // Of the slot that is taken. It is kept, since to clear one takes a quarter of the time that an event takes; of its
  // values those count that its operation has, which are set.
  trace::Event told_;
  std::uint64_t turns_ = 0;
  BlockTable blocks_;
  std::uint64_t live_bytes_ = 0;        // of the blocks in the table
  std::uint64_t moved_bytes_ = 0;       // that have come or gone so far
  std::uint64_t moved_when_asked_ = 0;  // when the allocator was asked last what it has
  HeapMemory heap_;
  StackTable stacks_;
  MallinfoSlots mallinfo_;
  TouchedBlocks touched_;
  std::uint64_t mallinfo_steps_ = 0;
  recorder::RingEvent definer_;  // the slot that a definition began with
  std::vector<Thread> threads_;  // by number
  std::vector<std::uint32_t> ended_;
  std::deque<Waiting> waiting_;               // by ticket
  std::optional<recorder::RingEvent> begun_;  // its rest is yet to come
  RecordingCounts counts_;
};

}  // namespace snug::tool
