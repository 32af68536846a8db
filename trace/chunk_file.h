// ChunkFile: writes a trace file: its header, then chunks as they are ended, and the index behind them. The processes
// of a recording share one; each chunk says to which process it belongs.
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
  // The caller owns the file, open for writing, at its beginning. `process`, `started`: of the first process.
  ChunkFile(std::FILE* file, std::uint32_t process, std::uint64_t started);
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;

  // Fills in the header's fields about the payload. `level`: of zstd; 0 leaves the payload as it is. Returns the
  // chunk's bytes.
  std::uint64_t write_chunk(ChunkHeader header, std::span<const std::uint8_t> payload, int level);
  // Passes what was written to the OS.
  void flush();
  // Writes the index, after which nothing may be written. False if any write has failed.
  bool finish(int level);
  // The errno of the first write that failed; 0 if none has.
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
