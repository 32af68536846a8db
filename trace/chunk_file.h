// ChunkFile: a trace file on its way to the disk: its header, then chunks as they are ended, and the index behind them.
// The processes of a recording share one; each chunk says of which it is.
//
//   offset == bytes handed to the file;    one entry of the index for each chunk
//
// It holds 104 bytes for each chunk that is written. Used by one thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "trace/layout.h"

namespace snug::trace {

class ChunkFile {
 public:
  // The file is the caller's, open for writing, at its begin. `process`, `started`: of the first process.
  ChunkFile(std::FILE* file, std::uint32_t process, std::uint64_t started);
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;

  // What the header says of its payload is filled in. `level`: of zstd; 0 leaves the payload as it is. Gives back the
  // chunk's bytes.
  std::uint64_t write_chunk(ChunkHeader header, std::span<const std::uint8_t> payload, int level);
  // Hands to the system what is written.
  void flush();
  // Writes the index. Nothing comes behind it. False if anything could not be written.
  bool finish(int level);
  // Of the first that could not be, as in errno; 0 as long as all could.
  int error() const { return error_; }
  std::uint64_t bytes() const { return offset_; }

 private:
  void write(const void* bytes, std::size_t count);
  void note(bool is_written);

  std::FILE* file_;
  std::vector<IndexEntry> index_;
  std::uint64_t offset_ = 0;
  int error_ = 0;
};

}  // namespace snug::trace
