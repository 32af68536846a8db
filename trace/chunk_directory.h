// ChunkDirectory: the places and headers of a trace's chunks; and the payload of one. Read from the index at the file's
// end, or, if there is none or it is damaged, by walking through the file.
//
// A reader holds no more than this of a whole trace: 104 bytes a chunk.
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
  // Nothing, and the reason in `refusal`, if this is no trace, or one of another version. Other faults go to `damage`.
  static std::optional<ChunkDirectory> read(Source& source, Damage& damage, std::string& refusal);

  const FileHeader& file() const { return file_; }
  // By offset, the index left out.
  const std::vector<IndexEntry>& chunks() const { return chunks_; }
  bool has_index() const { return has_index_; }
  // A directory for each process that has chunks, by its number, with only the chunks of that process.
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

// Reads the payload, decompressed. False, and the reason, if it is not what was written. For an open chunk, all bytes
// up to its span.
bool load_payload(Source& source, const IndexEntry& chunk, std::vector<std::uint8_t>& payload, std::string& fault);

// All chunks of facts, one behind the other, up to kMostFacts bytes.
std::string read_facts(Source& source, const ChunkDirectory& directory, Damage& damage);

}  // namespace snug::trace
