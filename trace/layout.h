// The fixed parts of a trace file: its header, and that of each chunk. All numbers are little-endian.
//
//   file:    FileHeader | chunk | chunk | … | index chunk | Trailer        what stands behind the chunks is optional
//   chunk:   ChunkHeader | payload | unused bytes up to the next chunk
//
// The format knows chunks that are open while their writer adds to them, in a mapping of the file, and are sealed
// afterwards; each step is completed by one last store (`magic`, then `state`), so that such a writer may be killed at
// any instruction. Readers accept them; ChunkFile writes whole chunks, sealed. Every chunk begins at a multiple of
// kChunkAlign.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace snug::trace {

static_assert(std::endian::native == std::endian::little, "headers are written as they lie in memory");

inline constexpr std::uint64_t kFileMagic = 0x0a727467'756e7389;     // "\x89snugtr\n"
inline constexpr std::uint64_t kTrailerMagic = 0x0a646e65'756e7389;  // "\x89snuend\n"
inline constexpr std::uint32_t kChunkMagic = 0x6b436e73;             // "snCk"
inline constexpr std::uint16_t kVersion = 3;                         // that is written
// Older versions are read as well. Version 2 has one more operation than 1, `touched`; version 3 may have several
// processes.
inline constexpr std::uint16_t kOldestVersion = 1;
inline constexpr std::uint16_t kWithProcesses = 3;  // from this version on a chunk says of which process it is
inline constexpr std::size_t kChunkAlign = 8;
// The most bytes of a payload, compressed or not, for which a reader must have room. For facts, of all of them
// together.
inline constexpr std::uint32_t kMostPayload = std::uint32_t{1} << 20;
inline constexpr std::uint32_t kMostFacts = std::uint32_t{1} << 20;
inline constexpr std::uint32_t kMostIndex = std::uint32_t{16} << 20;
inline constexpr std::uint32_t kMostSpan = std::uint32_t{32} << 20;

struct FileHeader {
  std::uint64_t magic = kFileMagic;
  std::uint16_t version = kVersion;
  std::uint16_t header_bytes = 64;  // where the first chunk begins
  std::uint32_t process = 0;        // of the first process: the system's id
  std::uint64_t started = 0;        // and its time 0: nanoseconds since 1970 (CLOCK_REALTIME)
  std::uint64_t unused[4] = {};
  std::uint32_t unused_too = 0;
  std::uint32_t checksum = 0;  // of all that stands before it
};
static_assert(sizeof(FileHeader) == 64 && offsetof(FileHeader, checksum) == 60);

enum class ChunkKind : std::uint16_t {
  kEvents = 1,
  kFacts = 2,  // what the trace is of: lines of a key, a tab and a value, in UTF-8
  kIndex = 3,  // IndexEntry for each chunk before it
};

inline constexpr std::uint16_t kWithStacks = 1;  // a chunk's flag: allocations and reallocations end with a stack

enum class Codec : std::uint32_t { kPlain = 0, kZstd = 1 };

enum class ChunkState : std::uint32_t { kOpen = 0, kSealed = 0x4c414553 };  // "SEAL"

struct ChunkHeader {
  std::uint32_t magic = 0;           // kChunkMagic, stored last of this part
  std::uint32_t begin_checksum = 0;  // of the bytes from `span` to before `state`
  std::uint32_t span = 0;            // bytes from this chunk's begin to the next one's
  ChunkKind kind = ChunkKind::kEvents;
  std::uint16_t flags = 0;
  std::uint32_t thread = 0;
  std::uint32_t serial = 0;  // of the thread's chunks, from 0
  // The standing of the thread before the first event.
  std::uint64_t time = 0;
  std::uint64_t turn = 0;
  std::uint64_t number = 1;   // of the next block it is given
  std::uint32_t process = 0;  // which of the file's processes, from 1 in order of appearance; 0: of none
  std::uint32_t unused = 0;

  ChunkState state = ChunkState::kOpen;  // stored last of all
  std::uint32_t end_checksum = 0;        // of the bytes from `stored_bytes` to the header's end, then of the payload
  std::uint32_t stored_bytes = 0;        // of the payload as it stands in the file
  std::uint32_t plain_bytes = 0;         // of the payload when it has been decompressed
  Codec codec = Codec::kPlain;
  std::uint32_t events = 0;
  // The standing of the thread after the last event.
  std::uint64_t last_time = 0;
  std::uint64_t last_turn = 0;
};
static_assert(sizeof(ChunkHeader) == 96 && offsetof(ChunkHeader, state) == 56 &&
              offsetof(ChunkHeader, last_turn) == 88);

constexpr std::uint32_t most_payload(ChunkKind kind) {
  return kind == ChunkKind::kIndex ? kMostIndex : kind == ChunkKind::kFacts ? kMostFacts : kMostPayload;
}

struct IndexEntry {
  std::uint64_t offset = 0;  // of the chunk in the file
  ChunkHeader header;        // its magic is 0, so that a walk through a damaged file does not take it for a chunk
};
static_assert(sizeof(IndexEntry) == 104);

struct Trailer {
  std::uint64_t index = 0;  // where the index chunk begins
  std::uint64_t magic = kTrailerMagic;
};
static_assert(sizeof(Trailer) == 16);

// A header, or another fixed part, out of bytes that may lie anywhere.
template <typename Part>
Part part_at(const void* bytes) {
  Part part;
  std::memcpy(static_cast<void*>(&part), bytes, sizeof part);
  return part;
}

std::uint32_t checksum_of(const FileHeader& header);
std::uint32_t begin_checksum_of(const ChunkHeader& header);
std::uint32_t end_checksum_of(const ChunkHeader& header, const void* payload);

}  // namespace snug::trace
