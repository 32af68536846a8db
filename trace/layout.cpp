#include "trace/layout.h"

#include <atomic>
#include <cstring>

#include "trace/checksum.h"

namespace snug::trace {

namespace {

constexpr std::size_t kBegin = offsetof(ChunkHeader, span);
constexpr std::size_t kState = offsetof(ChunkHeader, state);
constexpr std::size_t kEnd = offsetof(ChunkHeader, stored_bytes);

const std::uint8_t* bytes_of(const ChunkHeader& header) { return reinterpret_cast<const std::uint8_t*>(&header); }

// The part of the header from `from` to `to`, then the word that makes it valid.
void publish(void* memory, const ChunkHeader& header, std::size_t from, std::size_t to, std::size_t word) {
  std::memcpy(static_cast<std::uint8_t*>(memory) + from, bytes_of(header) + from, to - from);
  std::uint32_t value = 0;
  std::memcpy(&value, bytes_of(header) + word, sizeof value);
  auto* const place = reinterpret_cast<std::uint32_t*>(static_cast<std::uint8_t*>(memory) + word);
  std::atomic_ref(*place).store(value, std::memory_order_release);
}

}  // namespace

std::uint32_t checksum_of(const FileHeader& header) { return crc32c(&header, offsetof(FileHeader, checksum)); }

std::uint32_t begin_checksum_of(const ChunkHeader& header) {
  return crc32c(bytes_of(header) + kBegin, kState - kBegin);
}

std::uint32_t end_checksum_of(const ChunkHeader& header, const void* payload) {
  return crc32c(payload, header.stored_bytes, crc32c(bytes_of(header) + kEnd, sizeof header - kEnd));
}

void open_chunk(void* memory, ChunkHeader header) {
  header.begin_checksum = begin_checksum_of(header);
  header.magic = kChunkMagic;
  publish(memory, header, offsetof(ChunkHeader, begin_checksum), kState, offsetof(ChunkHeader, magic));
}

void seal_chunk(void* memory, ChunkHeader header) {
  header.end_checksum = end_checksum_of(header, static_cast<const std::uint8_t*>(memory) + sizeof header);
  header.state = ChunkState::kSealed;
  publish(memory, header, offsetof(ChunkHeader, end_checksum), sizeof header, offsetof(ChunkHeader, state));
}

}  // namespace snug::trace
