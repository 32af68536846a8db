// Ring: the events of one process on their way from its threads to `snug record`, in a file that both map. It outlives
// the process: what was in it when somebody killed the process is read all the same.
//
//   Ring:  what the process is | next | consumed, state | threads | slot 0 … slot 32767
//
// A thread waits until a slot is free, draws its ticket from `next`, fills it, and stores its head last.
// Tickets are the order of the events: a block's coming draws its ticket behind the call of the allocator, its going
// before, so that of two events of one address the earlier one has the lower ticket, whichever threads they are of.
//
//   consumed <= next <= consumed + kSlots
//   slot i holds the event of ticket t  <=>  i == t mod kSlots and its stamp is t + 1, modulo 2^32
//
// Threads of the process write `next`, `threads` and slots; `snug record` alone writes `consumed` and `state`, but for
// a process that finds it dead, or that answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace snug::recorder {

inline constexpr std::uint64_t kRingMagic = 0x34676e6972677573;  // "sugring4"
// 1 MiB: a few milliseconds of a program that does nothing but allocate, which is how often `snug record` looks.
inline constexpr std::uint64_t kSlots = 1 << 15;
inline constexpr std::uint32_t kMostThread = (1 << 24) - 1;

// Codes of a slot beside those of trace::Operation.
inline constexpr std::uint8_t kReallocBegins = 0xf0;  // a reallocation of the block at this address is under way
// The block at this address goes by a call from inside of the allocator. Most such calls are of blocks that nobody has
// been told of, and mean nothing then.
inline constexpr std::uint8_t kGoesInside = 0xf5;
inline constexpr std::uint8_t kRest = 0xf1;  // more of what the slot of a ticket before began
// Before the slot of an allocation, the key of its stack as the address, and how many addresses to return to are told:
// none of a stack that was told before, otherwise two in each of the slots that follow, innermost first.
inline constexpr std::uint8_t kStack = 0xf2;
// A file that such addresses lie in: where it begins, and how long it is. In the slot behind stands what was added to
// the addresses in it, and the lengths of its path << 32 and of its build-id. Then follow both, the build-id first.
inline constexpr std::uint8_t kModule = 0xf3;
// What the allocator says of itself: the first two fields of mallinfo2, and in each of the slots that follow the next
// two. The moment of the last slot is the one before the allocator was asked.
inline constexpr std::uint8_t kMallinfo = 0xf4;
inline constexpr std::size_t kMallinfoFields = 10;
inline constexpr std::size_t kMallinfoSlots = kMallinfoFields / 2;
inline constexpr std::size_t kMostFrames = 64;
inline constexpr std::size_t kMostModulePath = 1024;
inline constexpr std::size_t kMostBuildId = 64;

// Of a large block that lives, 64 OS pages from the one of this address on: a bit for each that was touched, in place
// of the size. The address is the block's, and so many times 64 pages behind it.
inline constexpr std::uint8_t kTouchedPages = 0xf6;
// From this address on so many bytes are the dynamic linker's own, of no file (recorder/loader_memory.h).
inline constexpr std::uint8_t kLoaderMemory = 0xf7;
inline constexpr std::uint64_t kPageBytes = 4096;
// Smaller blocks are not looked at, and count as written whole. A look takes some microseconds, at each that goes.
inline constexpr std::uint64_t kLeastLookedAt = 8192;

// Of a page's word in /proc/PID/pagemap: whether the process has memory of no file for it. A page that was only read is
// the kernel's page of zeroes, which no process has for its own; after a fork that is true of pages that two have.
constexpr bool is_resident(std::uint64_t word, bool has_forked) {
  constexpr std::uint64_t kInMemory = std::uint64_t{1} << 63;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
  constexpr std::uint64_t kOwn = std::uint64_t{1} << 56;
  return (word & (kInMemory | kOfFile)) == kInMemory && (has_forked || (word & kOwn) != 0);
}
// Whether it was written.
constexpr bool is_touched(std::uint64_t word, bool has_forked) {
  constexpr std::uint64_t kInSwap = std::uint64_t{1} << 62;
  return (word & kInSwap) != 0 || is_resident(word, has_forked);
}

// Sixteen bytes of a text in each.
constexpr std::size_t slots_of_text(std::size_t bytes) { return (bytes + 15) / 16; }
// That are drawn at once: of a module.
inline constexpr std::size_t kMostTogether = 2 + slots_of_text(kMostModulePath) + slots_of_text(kMostBuildId);
static_assert(kMostTogether >= 1 + (kMostFrames + 1) / 2 + 2);

struct Slot {
  std::atomic<std::uint64_t> head;  // stamp << 32 | thread << 8 | operation
  std::uint64_t when;               // moment << 8 | kRefused | mark
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(Slot) == 32 && std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint8_t kRefused = 0x80;
// What the rest of that byte says: of an alignment its logarithm and one more, or 0 if it is 0; of a mapping its
// protection. An alignment that is no power of two has this mark, and stands in the slot behind, as its address.
inline constexpr std::uint8_t kMark = 0x7f;
inline constexpr std::uint8_t kOddAlignment = 0x7f;

constexpr std::uint64_t head_of(std::uint64_t ticket, std::uint32_t thread, std::uint8_t operation) {
  return (ticket + 1) << 32 | std::uint64_t{thread} << 8 | operation;
}
constexpr bool is_head_of(std::uint64_t head, std::uint64_t ticket) {
  return head >> 32 == ((ticket + 1) & 0xffffffff);
}

// A slot's event as its reader has it.
struct RingEvent {
  std::uint32_t thread = 0;
  std::uint8_t operation = 0;
  bool is_refused = false;
  std::uint8_t mark = 0;
  // A processor's ticks may lag behind by a few: it is a number with a sign then.
  std::uint64_t moment = 0;  // since the ring began, in ticks or nanoseconds (Ring::counts_ticks)
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// `head`: the slot's, which has been seen to be that of a ticket.
constexpr RingEvent event_of(std::uint64_t head, const Slot& slot) {
  return {.thread = static_cast<std::uint32_t>(head >> 8) & kMostThread,
          .operation = static_cast<std::uint8_t>(head),
          .is_refused = (slot.when & kRefused) != 0,
          .mark = static_cast<std::uint8_t>(slot.when & kMark),
          .moment = static_cast<std::uint64_t>(static_cast<std::int64_t>(slot.when) >> 8),
          .address = slot.address,
          .size = slot.size};
}

// Asked: on, and the next thread whose call of the allocator has ended is to tell what mallinfo2 says, which makes the
// state on again. Abandoned: nobody reads the ring any more, and nobody need wait for room.
enum class RingState : std::uint32_t { kPaused, kOn, kAsked, kAbandoned };

constexpr bool is_telling(RingState state) { return state == RingState::kOn || state == RingState::kAsked; }

struct Ring {
  std::atomic<std::uint64_t> magic;  // stored last of this part
  std::uint32_t process;
  std::uint32_t forked_from;     // the process; 0 if it began by an exec
  std::uint64_t began;           // CLOCK_MONOTONIC in nanoseconds
  std::uint64_t began_ticks;     // the processor's counter at that moment
  std::uint64_t began_at;        // CLOCK_REALTIME, likewise
  char allocator[1024];          // the file that the recorded malloc lies in
  char program[1024];            // the file that was executed
  std::uint64_t program_device;  // and which one it is, however it may be called; zeroes if that is not known
  std::uint64_t program_number;
  char arguments[4096];          // what it was given, each with a zero behind it; the last may be cut off
  bool counts_ticks;             // what moments are told in; otherwise nanoseconds
  bool tells_stacks;             // of allocations
  bool has_mallinfo;             // the allocator has one of its own
  std::atomic<bool> has_forked;  // or came of a fork: pages may be another process's as well

  alignas(64) std::atomic<std::uint64_t> next;
  alignas(64) std::atomic<std::uint64_t> consumed;
  std::atomic<RingState> state;
  // Blocks may go that nobody has seen come: of a child of a fork, and behind a pause. So each block that goes is told
  // with the size that the allocator says it has.
  std::atomic<bool> tells_sizes;
  // Numbers given so far; 1 is the first thread's, whether it has come or not.
  alignas(64) std::atomic<std::uint32_t> threads;
  alignas(64) Slot slots[kSlots];

  Slot& slot_of(std::uint64_t ticket) { return slots[ticket % kSlots]; }
};

// The variable that tells a program's recorder where `snug record` waits: its process id, the number of the PID
// namespace that this is of (0: not known), what is asked for (the sum of those below), and a folder, with colons
// between them.
inline constexpr const char* kSessionVariable = "SNUG_RECORD";
inline constexpr std::uint64_t kAsksForTicks = 1;
inline constexpr std::uint64_t kAsksForStacks = 2;
// A file in that folder that `snug record` holds a lock on (flock) while it lives.
inline constexpr const char* kCollectorFile = "collector";
// A file in that folder, there while nothing is to be recorded.
inline constexpr const char* kPausedFile = "paused";
// How the files of rings are called there: "ring.PROCESS.NUMBER".
inline constexpr const char* kRingPrefix = "ring.";

}  // namespace snug::recorder
