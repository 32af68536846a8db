// ThreadWriter: adds the events of one thread to chunks in memory that it is given, as a rule a shared mapping of the
// trace file. For use inside of the program that is watched: it neither allocates nor locks nor calls the system, and
// what is in the mapping is in the file even if the process is killed.
//
//   events before `end of the last one` are valid   <=>   the head of the next is 0
//
// The head of an event is stored last, so that a reader takes every event that was finished. A chunk without room for
// the longest event is sealed, and the supply is asked for another; that call may block.
//
// A signal handler that allocates may interrupt append() at any instruction. Its events are set aside, and added right
// behind the event that was under way; what is more than there is room for is counted, and told by a `lost` event.
//
// WHEN TO APPEND. The order of the trace is exact if the event of a block's coming is appended after the allocator has
// returned it and before the program has it, and that of its going before the allocator gets it. A reallocation is one
// event, behind the call; the old block's identity is looked up before it.
//
// Used by one thread, or by one after the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/event.h"
#include "trace/event_encoder.h"
#include "trace/layout.h"

namespace snug::trace {

// Memory for one chunk: zeroed, aligned to kChunkAlign, its length a multiple of that. It is the chunk's span.
struct ChunkMemory {
  void* begin = nullptr;
  std::size_t bytes = 0;
};

inline constexpr std::size_t kLeastChunk = 16384;

// What the threads of a process share. Outlives their writers.
struct Supply {
  // At least kLeastChunk bytes, at most kMostPayload; or no memory, if there is none any more: events are then lost.
  ChunkMemory (*take)(void* context) = nullptr;
  void* context = nullptr;
  // The last turn that was taken. 0 when the recording begins.
  std::atomic<std::uint64_t>* turns = nullptr;
  std::uint16_t chunk_flags = 0;  // kWithStacks or 0
};

class ThreadWriter {
 public:
  constexpr ThreadWriter() = default;

  // The thread's number is its own in the trace, from 1 to kMostThread. What was under way before is forgotten, which
  // the child of a fork wants; its blocks then go on from `number`.
  void begin(const Supply& supply, std::uint32_t thread, std::uint64_t number = 1);
  // Seals the chunk. Further events begin another one.
  void finish();

  // Adds an event. The caller fills in the operation, its fields and the time; thread, turn and result are the
  // writer's. The time is raised to that of the thread's event before. A turn is taken where the operation or a block
  // of another thread wants it, or if the event says so; the identity of the block that came is returned.
  BlockId append(const Event& event);

  // Whether append() would set aside, because it was interrupted. Events with texts cannot be, and are lost then.
  bool is_busy() const { return is_busy_.load(std::memory_order_relaxed); }

  // For tests: what an interruption may see.
  const Standing& standing() const { return at_; }

 private:
  static constexpr std::size_t kMostAside = 16;
  // Numbers of blocks that came while append() was interrupted: those it is about to give are not known then.
  static constexpr std::uint64_t kFirstAsideNumber = std::uint64_t{1} << (kNumberBits - 1);

  BlockId set_aside(Event event);
  void add_aside();
  Stamp stamp_of(const Event& event) const;
  void add(const Event& event, Stamp stamp, BlockId result);
  void put(const Event& event, const Stamp& stamp);
  bool make_room(const Event& event);
  bool open();
  void seal();
  void lose(std::uint64_t events) { lost_.fetch_add(events, std::memory_order_relaxed); }

  Supply supply_ = {};
  Standing at_ = {};
  std::uint8_t* chunk_ = nullptr;  // null: none is open
  std::uint8_t* next_ = nullptr;   // where the next event begins
  std::uint8_t* limit_ = nullptr;
  ChunkHeader header_ = {};
  std::uint32_t serial_ = 0;

  std::atomic<bool> is_busy_ = false;
  std::atomic<std::uint64_t> aside_number_ = kFirstAsideNumber;
  std::atomic<std::uint32_t> aside_count_ = 0;  // may be more than there is room for
  std::array<Event, kMostAside> aside_ = {};
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace snug::trace
