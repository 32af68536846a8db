// ChunkDirectory: where the chunks of a trace are, and what their headers say; and the payload of one. Found by the
// index at the file's end, or by going through the file where there is none, or a damaged one.
//
// It is all that a reader holds of a whole trace: 104 bytes a chunk.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/damage.h"
#include "trace/layout.h"
#include "trace/source.h"

namespace snug::trace {

class Piece;

class ChunkDirectory {
 public:
  // None, and why in `refusal`, if this is no trace, or one of another version. What is wrong beyond is told `damage`.
  static std::optional<ChunkDirectory> read(Source& source, Damage& damage, std::string& refusal);

  const FileHeader& file() const { return file_; }
  // By offset, the index left out.
  const std::vector<IndexEntry>& chunks() const { return chunks_; }
  bool has_index() const { return has_index_; }
  // The same file for each process that has chunks, by its number, with the chunks of that process alone.
  std::map<std::uint32_t, ChunkDirectory> by_process() const;

 private:
  bool take_index(Source& source, Damage& damage);
  void walk(Source& source, Damage& damage);
  // The next place from `offset` on where a chunk begins, or the file's end.
  std::uint64_t find_chunk(Source& source, Piece& piece, std::uint64_t offset, Damage& damage) const;

  FileHeader file_;
  std::vector<IndexEntry> chunks_;
  bool has_index_ = false;
};

// The bytes of the payload, decompressed. False, and why, if they are not what was written. Of an open chunk all up to
// its span.
bool load_payload(Source& source, const IndexEntry& chunk, std::vector<std::uint8_t>& payload, std::string& fault);

// All chunks of facts, one behind the other, up to kMostFacts bytes.
std::string read_facts(Source& source, const ChunkDirectory& directory, Damage& damage);

}  // namespace snug::trace
