// Ring: the events of one process on their way from its threads to `snug record`, in a file that both map. It outlives
// the process: events that are in it when the process is killed are read all the same.
//
//   Ring:  what the process is | next | consumed, state | threads | slot 0 … slot 32767
//
// A thread waits until a slot is free, draws its ticket from `next`, fills it, and stores its head last.
// Tickets are the order of the events: an allocation draws its ticket after the call of the allocator, a free before
// it, so that of two events of one address the earlier one has the lower ticket, whichever threads they are of.
//
//   consumed <= next <= consumed + kSlots
//   slot i holds the event of ticket t  <=>  i == t mod kSlots and its stamp is t + 1, modulo 2^32
//
// Threads of the process write `next`, `threads` and slots; only `snug record` writes `consumed` and `state`, except
// that the process writes `state` when it finds `snug record` dead, or answers it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace snug::recorder {

inline constexpr std::uint64_t kRingMagic = 0x35676e6972677573;  // "sugring5"
// 1 MiB: a few milliseconds of a program that does nothing but allocate, which is how often `snug record` looks.
inline constexpr std::uint64_t kSlots = 1 << 15;
inline constexpr std::uint32_t kMostThread = (1 << 24) - 1;

// Codes of a slot beside those of trace::Operation.
inline constexpr std::uint8_t kReallocBegins = 0xf0;  // a reallocation of the block at this address is under way
// The block at this address is freed by a call from inside of the allocator. Most such calls are of blocks that were
// not recorded, and are ignored then.
inline constexpr std::uint8_t kGoesInside = 0xf5;
inline constexpr std::uint8_t kRest = 0xf1;  // more of what the slot of a ticket before began
// Before the slot of an allocation: the key of its stack as the address, and how many return addresses follow: none for
// a stack that was recorded before, otherwise two in each of the next slots, innermost first.
inline constexpr std::uint8_t kStack = 0xf2;
// A file in which such addresses lie: where it begins, and how long it is. The next slot has its load bias, and the
// lengths of its path << 32 and of its build-id. Then both follow, the build-id first.
inline constexpr std::uint8_t kModule = 0xf3;
// A sample of the allocator: the first two fields of mallinfo2, and in each of the next slots two more. The moment of
// the last slot is that before the allocator was asked.
inline constexpr std::uint8_t kMallinfo = 0xf4;
inline constexpr std::size_t kMallinfoFields = 10;
// Stands where the allocator is about to be asked. What other threads tell of from here on may be in its answer or not.
inline constexpr std::uint8_t kMallinfoBegins = 0xf8;
inline constexpr std::size_t kMallinfoSlots = kMallinfoFields / 2;
inline constexpr std::size_t kMostFrames = 64;
inline constexpr std::size_t kMostModulePath = 1024;
inline constexpr std::size_t kMostBuildId = 64;

// 64 OS pages of a live large block, from the page of this address on: instead of the size, a bit for each page that
// was touched. The address is the block's plus a multiple of 64 pages.
inline constexpr std::uint8_t kTouchedPages = 0xf6;
// From this address on so many bytes are the dynamic linker's own anonymous memory (recorder/loader_memory.h).
inline constexpr std::uint8_t kLoaderMemory = 0xf7;
inline constexpr std::uint64_t kPageBytes = 4096;
// Smaller blocks count as written whole. Looking at the pages of a block takes some microseconds for each free.
inline constexpr std::uint64_t kLeastLookedAt = 8192;

// By a page's word in /proc/PID/pagemap: true if the process has anonymous memory for it. A page that was only read is
// the kernel's common zero page, exclusive to no process; after a fork that holds for pages that two processes share.
constexpr bool is_resident(std::uint64_t word, bool has_forked) {
  constexpr std::uint64_t kInMemory = std::uint64_t{1} << 63;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
  constexpr std::uint64_t kOwn = std::uint64_t{1} << 56;
  return (word & (kInMemory | kOfFile)) == kInMemory && (has_forked || (word & kOwn) != 0);
}
// True if the page was written.
constexpr bool is_touched(std::uint64_t word, bool has_forked) {
  constexpr std::uint64_t kInSwap = std::uint64_t{1} << 62;
  return (word & kInSwap) != 0 || is_resident(word, has_forked);
}

// How many slots a text needs, of sixteen bytes each.
constexpr std::size_t slots_of_text(std::size_t bytes) { return (bytes + 15) / 16; }
// The most slots that are drawn at once: those of a module.
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
// The rest of that byte: for an alignment its logarithm plus one, or 0 if it is 0; for a mapping its protection. An
// alignment that is no power of two has the mark kOddAlignment, and is the address of the next slot.
inline constexpr std::uint8_t kMark = 0x7f;
inline constexpr std::uint8_t kOddAlignment = 0x7f;

constexpr std::uint64_t head_of(std::uint64_t ticket, std::uint32_t thread, std::uint8_t operation) {
  return (ticket + 1) << 32 | std::uint64_t{thread} << 8 | operation;
}
constexpr bool is_head_of(std::uint64_t head, std::uint64_t ticket) {
  return head >> 32 == ((ticket + 1) & 0xffffffff);
}

// A slot's event as its reader gets it.
struct RingEvent {
  std::uint32_t thread = 0;
  std::uint8_t operation = 0;
  bool is_refused = false;
  std::uint8_t mark = 0;
  // A processor's ticks may lag behind by a few: the number is signed then.
  std::uint64_t moment = 0;  // since the ring began, in ticks or nanoseconds (Ring::counts_ticks)
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// `head`: the slot's head, checked to be that of the ticket.
constexpr RingEvent event_of(std::uint64_t head, const Slot& slot) {
  return {.thread = static_cast<std::uint32_t>(head >> 8) & kMostThread,
          .operation = static_cast<std::uint8_t>(head),
          .is_refused = (slot.when & kRefused) != 0,
          .mark = static_cast<std::uint8_t>(slot.when & kMark),
          .moment = static_cast<std::uint64_t>(static_cast<std::int64_t>(slot.when) >> 8),
          .address = slot.address,
          .size = slot.size};
}

// Asked: on, and the next thread to end a call of the allocator is to record mallinfo2, which makes the state on again.
// Abandoned: `snug record` does not read the ring any more, and no thread need wait for room.
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
  std::uint64_t program_device;  // and its identity, whatever its name; zeroes if that is not known
  std::uint64_t program_number;
  char arguments[4096];          // what it was given, each with a zero behind it; the last may be cut off
  bool counts_ticks;             // the unit of moments is ticks; otherwise nanoseconds
  bool tells_stacks;             // of allocations
  bool has_mallinfo;             // the allocator has one of its own
  std::atomic<bool> has_forked;  // or was forked: it may share pages with another process

  alignas(64) std::atomic<std::uint64_t> next;
  alignas(64) std::atomic<std::uint64_t> consumed;
  std::atomic<RingState> state;
  // Blocks may be freed that were not recorded when allocated: in a child of a fork, and after a pause. So each free is
  // recorded with the size that the allocator reports.
  std::atomic<bool> tells_sizes;
  // How many numbers were given so far; 1 is the first thread's, even before its first event.
  alignas(64) std::atomic<std::uint32_t> threads;
  alignas(64) Slot slots[kSlots];

  Slot& slot_of(std::uint64_t ticket) { return slots[ticket % kSlots]; }
};

// The environment variable that tells a program's recorder where `snug record` is: its process id, the number of that
// id's PID namespace (0: not known), the wanted kinds of data (the sum of those below), device and inode of /dev/shm or
// what stands in its place, and a folder in that, separated by colons.
inline constexpr const char* kSessionVariable = "SNUG_RECORD";
inline constexpr std::uint64_t kAsksForTicks = 1;
inline constexpr std::uint64_t kAsksForStacks = 2;
// A file in that folder that `snug record` holds a lock on (flock) while it lives.
inline constexpr const char* kCollectorFile = "collector";
// A file in that folder that exists while recording pauses.
inline constexpr const char* kPausedFile = "paused";
// The files of rings there are named "ring.PROCESS.NUMBER".
inline constexpr const char* kRingPrefix = "ring.";
// A process that gets no ring leaves a link there, "lost.PROCESS.NUMBER", of which the target is the reason: that takes
// no room of the file system and no descriptor. If even that fails, it sets this bit of the collector's file.
inline constexpr const char* kLostPrefix = "lost.";
inline constexpr unsigned kSomeAreLost = 01000;

}  // namespace snug::recorder
