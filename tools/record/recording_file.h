// RecordingFile: the one file of a recording, which all of its processes share (docs/trace-format.md). It is made when
// the first of them has come, so that a recording of nothing leaves none.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "trace/chunk_file.h"

namespace snug::tool {

enum class Existing : std::uint8_t { kKeep, kOverwrite };

// Throws UserError if there can be no such file, or if one is there that has something in it, and is to be kept. Leaves
// what is there as it is.
void expect_writable(const std::filesystem::path& path, Existing existing);

class RecordingFile {
 public:
  // `level`: of compression, 0 for none.
  RecordingFile(std::filesystem::path path, int level);
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  // `process`, `started`: of the one that is to write, for the header if it is the first. Throws UserError if the file
  // cannot be made.
  trace::ChunkFile& chunks(std::uint32_t process, std::uint64_t started);
  // Throws UserError if some of it could not be written.
  void expect_written() const;
  // Ends the file, if there is one. Throws UserError if it is not whole.
  void finish();

  const std::filesystem::path& path() const { return path_; }
  int level() const { return level_; }
  std::uint64_t bytes() const { return chunks_ ? chunks_->bytes() : 0; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const std::filesystem::path path_;
  const int level_;
  std::unique_ptr<std::FILE, CloseFile> stream_;
  std::optional<trace::ChunkFile> chunks_;
};

}  // namespace snug::tool
