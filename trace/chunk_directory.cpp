#include "trace/chunk_directory.h"

#include <algorithm>
#include <array>

#include "trace/block_id.h"
#include "trace/compression.h"

namespace snug::trace {

namespace {

bool is_header(const ChunkHeader& header) {
  return header.begin_checksum == begin_checksum_of(header) && header.span >= sizeof(ChunkHeader) &&
         header.span <= kMostSpan && header.span % kChunkAlign == 0;
}

bool is_chunk(const ChunkHeader& header) { return header.magic == kChunkMagic && is_header(header); }

// How many bytes of its payload are in the file: for an open chunk those of its span.
std::uint64_t bytes_in_file(const ChunkHeader& header) {
  return header.state == ChunkState::kSealed ? header.stored_bytes : header.span - sizeof header;
}

bool is_zero(const std::uint8_t* bytes, std::size_t count) {
  return std::all_of(bytes, bytes + count, [](std::uint8_t byte) { return byte == 0; });
}

// True if the rest of the file, too short for a chunk, is a trailer.
bool is_trailer(Source& source, std::uint64_t offset) {
  std::array<std::uint8_t, sizeof(Trailer)> bytes = {};
  return source.size() - offset == sizeof(Trailer) && source.read(offset, bytes.data(), bytes.size()) &&
         part_at<Trailer>(bytes.data()).magic == kTrailerMagic;
}

}  // namespace

// A stretch of the file in memory, kept from one search to the next: there may be many short gaps between chunks.
class Piece {
 public:
  explicit Piece(Source& source) : source_(source) {}

  // Null if they cannot be read.
  const std::uint8_t* at(std::uint64_t offset, std::uint64_t count) {
    if (offset < begin_ || offset + count > begin_ + bytes_.size()) {
      begin_ = offset;
      bytes_.resize(std::min<std::uint64_t>(source_.size() - offset, kBytes));
      if (!source_.read(begin_, bytes_.data(), bytes_.size())) {
        bytes_.clear();
        return nullptr;
      }
    }
    return bytes_.data() + (offset - begin_);
  }

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 16;

  Source& source_;
  std::uint64_t begin_ = 0;
  std::vector<std::uint8_t> bytes_;
};

std::optional<ChunkDirectory> ChunkDirectory::read(Source& source, Damage& damage, std::string& refusal) {
  std::array<std::uint8_t, sizeof(FileHeader)> bytes = {};
  ChunkDirectory directory;
  if (!source.read(0, bytes.data(), bytes.size())) {
    refusal = "it is no trace: it is shorter than a trace's header";
    return std::nullopt;
  }
  directory.file_ = part_at<FileHeader>(bytes.data());
  if (directory.file_.magic != kFileMagic) {
    refusal = "it is no trace: it does not begin as one";
    return std::nullopt;
  }
  if (directory.file_.version < kOldestVersion || directory.file_.version > kVersion) {
    refusal = "version " + std::to_string(directory.file_.version) + " of the format; this reader knows versions " +
              std::to_string(kOldestVersion) + " to " + std::to_string(kVersion);
    return std::nullopt;
  }
  if (directory.file_.checksum != checksum_of(directory.file_)) damage.tell(0, "the file's header is damaged");
  directory.has_index_ = directory.take_index(source, damage);
  if (!directory.has_index_) directory.walk(source, damage);
  if (directory.file_.version < kWithProcesses)
    for (IndexEntry& chunk : directory.chunks_) chunk.header.process = 1;
  return directory;
}

std::map<std::uint32_t, ChunkDirectory> ChunkDirectory::by_process() const {
  std::map<std::uint32_t, ChunkDirectory> parts;
  for (const IndexEntry& chunk : chunks_) {
    ChunkDirectory& part = parts[chunk.header.process];
    part.file_ = file_;
    part.has_index_ = has_index_;
    part.chunks_.push_back(chunk);
  }
  return parts;
}

bool ChunkDirectory::take_index(Source& source, Damage& damage) {
  const std::uint64_t size = source.size();
  std::array<std::uint8_t, sizeof(ChunkHeader)> bytes = {};
  if (size < sizeof(FileHeader) + sizeof(Trailer)) return false;
  const std::uint64_t end = size - sizeof(Trailer);
  if (!source.read(end, bytes.data(), sizeof(Trailer))) return false;
  const auto trailer = part_at<Trailer>(bytes.data());
  if (trailer.magic != kTrailerMagic) return false;
  const auto refuse = [&](const char* what) {
    chunks_.clear();
    damage.tell(end, std::string("the index cannot be used: ") + what);
    return false;
  };
  if (trailer.index > end || !source.read(trailer.index, bytes.data(), bytes.size())) return refuse("it is not there");
  const IndexEntry index = {trailer.index, part_at<ChunkHeader>(bytes.data())};
  if (!is_chunk(index.header) || index.header.kind != ChunkKind::kIndex)
    return refuse("no index is where it should be");
  std::vector<std::uint8_t> payload;
  std::string fault;
  if (!load_payload(source, index, payload, fault)) return refuse(fault.c_str());
  if (payload.size() % sizeof(IndexEntry) != 0) return refuse("its length is wrong");
  std::uint64_t next = sizeof(FileHeader);
  for (std::size_t at = 0; at < payload.size(); at += sizeof(IndexEntry)) {
    const auto entry = part_at<IndexEntry>(payload.data() + at);
    const bool is_in_order = entry.offset >= next && entry.offset <= trailer.index;
    if (!is_in_order || !is_header(entry.header) || entry.header.kind == ChunkKind::kIndex)
      return refuse("it names chunks that cannot be");
    next = entry.offset + entry.header.span;
    chunks_.push_back(entry);
  }
  return true;
}

void ChunkDirectory::walk(Source& source, Damage& damage) {
  const std::uint64_t size = source.size();
  std::array<std::uint8_t, sizeof(ChunkHeader)> bytes = {};
  Piece piece(source);
  std::uint64_t offset = sizeof(FileHeader);
  while (offset < size) {
    if (source.read(offset, bytes.data(), bytes.size())) {
      const IndexEntry chunk = {offset, part_at<ChunkHeader>(bytes.data())};
      if (is_chunk(chunk.header)) {
        if (chunk.header.kind != ChunkKind::kIndex) chunks_.push_back(chunk);
        // Its payload may be whole nevertheless.
        if (chunk.header.span > size - offset) damage.tell(offset, "the file ends within a chunk");
        offset = std::min<std::uint64_t>(size, offset + chunk.header.span);
        continue;
      }
    }
    offset = find_chunk(source, piece, offset, damage);
  }
}

std::uint64_t ChunkDirectory::find_chunk(Source& source, Piece& piece, std::uint64_t offset, Damage& damage) const {
  const std::uint64_t begin = offset;
  const std::uint64_t size = source.size();
  bool is_damage = false;
  const auto tell = [&](std::uint64_t end) {
    if (is_damage) damage.tell_chunk(begin, std::to_string(end - begin) + " bytes are no chunk, and passed over");
    return end;
  };
  for (; offset < size; offset += kChunkAlign) {
    // What is left at the file's end may be too short for a header.
    const std::uint64_t left = size - offset;
    const std::uint8_t* const at = piece.at(offset, std::min<std::uint64_t>(left, sizeof(ChunkHeader)));
    if (at == nullptr) break;
    if (left >= sizeof(ChunkHeader) && part_at<std::uint32_t>(at) == kChunkMagic && is_chunk(part_at<ChunkHeader>(at)))
      return tell(offset);
    if (is_trailer(source, offset)) return tell(size);
    is_damage = is_damage || !is_zero(at, std::min<std::uint64_t>(left, kChunkAlign));
  }
  return tell(size);
}

bool load_payload(Source& source, const IndexEntry& chunk, std::vector<std::uint8_t>& payload, std::string& fault) {
  const ChunkHeader& header = chunk.header;
  const auto fail = [&fault](const char* what) {
    fault = what;
    return false;
  };
  const bool is_sealed = header.state == ChunkState::kSealed;
  if (!is_sealed && header.state != ChunkState::kOpen) return fail("the chunk is neither open nor sealed");
  std::uint64_t count = bytes_in_file(header);
  const std::uint32_t most = most_payload(header.kind);
  if (count > header.span - sizeof header || count > most) return fail("the chunk's length cannot be");
  const std::uint64_t begin = chunk.offset + sizeof header;
  const std::uint64_t there = begin < source.size() ? source.size() - begin : 0;
  if (!is_sealed) count = std::min(count, there);
  if (count > there) return fail("the file ends within the chunk");
  std::vector<std::uint8_t> stored(count);
  if (!source.read(begin, stored.data(), count)) return fail("the chunk cannot be read");
  if (!is_sealed) {
    payload = std::move(stored);
    return true;
  }
  if (header.end_checksum != end_checksum_of(header, stored.data())) return fail("the chunk's checksum is wrong");
  if (header.codec == Codec::kPlain) {
    if (header.plain_bytes != header.stored_bytes) return fail("the chunk's length cannot be");
    payload = std::move(stored);
    return true;
  }
  if (header.codec != Codec::kZstd || header.plain_bytes > most) return fail("the chunk's coding is unknown");
  return decompress(stored, header.plain_bytes, payload) || fail("the chunk cannot be decompressed");
}

std::string read_facts(Source& source, const ChunkDirectory& directory, Damage& damage) {
  std::string facts;
  std::vector<std::uint8_t> payload;
  std::string fault;
  for (const IndexEntry& chunk : directory.chunks()) {
    if (chunk.header.kind != ChunkKind::kFacts) continue;
    if (!load_payload(source, chunk, payload, fault)) {
      damage.tell_chunk(chunk.offset, fault);
      continue;
    }
    if (payload.size() > kMostFacts - facts.size()) {
      damage.tell_chunk(chunk.offset, "there are more facts than can be");
      break;
    }
    facts.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  return facts;
}

}  // namespace snug::trace
