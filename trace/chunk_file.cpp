#include "trace/chunk_file.h"

#include <cerrno>

#include "trace/compression.h"

namespace snug::trace {

ChunkFile::ChunkFile(std::FILE* file, std::uint32_t process, std::uint64_t started) : file_(file) {
  FileHeader header;
  header.process = process;
  header.started = started;
  header.checksum = checksum_of(header);
  write(&header, sizeof header);
}

std::uint64_t ChunkFile::write_chunk(ChunkHeader header, std::span<const std::uint8_t> payload, int level) {
  std::span<const std::uint8_t> packed;
  if (level != 0) packed = compress(payload, level);
  const std::span<const std::uint8_t> stored = packed.empty() ? payload : packed;
  const std::size_t unused = (kChunkAlign - stored.size() % kChunkAlign) % kChunkAlign;
  header.codec = packed.empty() ? Codec::kPlain : Codec::kZstd;
  header.plain_bytes = static_cast<std::uint32_t>(payload.size());
  header.stored_bytes = static_cast<std::uint32_t>(stored.size());
  header.span = static_cast<std::uint32_t>(sizeof header + stored.size() + unused);
  header.begin_checksum = begin_checksum_of(header);
  header.end_checksum = end_checksum_of(header, stored.data());
  header.state = ChunkState::kSealed;
  if (header.kind != ChunkKind::kIndex) index_.push_back({offset_, header});
  header.magic = kChunkMagic;
  constexpr std::uint8_t kUnused[kChunkAlign] = {};
  write(&header, sizeof header);
  write(stored.data(), stored.size());
  write(kUnused, unused);
  return header.span;
}

void ChunkFile::flush() { note(std::fflush(file_) == 0); }

bool ChunkFile::finish(int level) {
  const std::size_t bytes = index_.size() * sizeof(IndexEntry);
  if (bytes <= kMostIndex) {  // a reader can do without an index
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(index_.data());
    ChunkHeader header;
    header.kind = ChunkKind::kIndex;
    const Trailer trailer = {.index = offset_};
    write_chunk(header, {begin, begin + bytes}, level);
    write(&trailer, sizeof trailer);
  }
  flush();
  return error_ == 0;
}

void ChunkFile::write(const void* bytes, std::size_t count) {
  if (count == 0) return;  // the index of a trace without chunks is empty, and `bytes` null
  if (error_ == 0) note(std::fwrite(bytes, 1, count, file_) == count);
  offset_ += count;
}

void ChunkFile::note(bool is_written) {
  if (!is_written && error_ == 0) error_ = errno != 0 ? errno : EIO;
}

}  // namespace snug::trace
