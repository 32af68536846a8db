#include "trace/layout.h"

#include "trace/checksum.h"

namespace snug::trace {

namespace {

constexpr std::size_t kBegin = offsetof(ChunkHeader, span);
constexpr std::size_t kState = offsetof(ChunkHeader, state);
constexpr std::size_t kEnd = offsetof(ChunkHeader, stored_bytes);

const std::uint8_t* bytes_of(const ChunkHeader& header) { return reinterpret_cast<const std::uint8_t*>(&header); }

}  // namespace

std::uint32_t checksum_of(const FileHeader& header) { return crc32c(&header, offsetof(FileHeader, checksum)); }

std::uint32_t begin_checksum_of(const ChunkHeader& header) {
  return crc32c(bytes_of(header) + kBegin, kState - kBegin);
}

std::uint32_t end_checksum_of(const ChunkHeader& header, const void* payload) {
  return crc32c(payload, header.stored_bytes, crc32c(bytes_of(header) + kEnd, sizeof header - kEnd));
}

}  // namespace snug::trace
