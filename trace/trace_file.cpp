#include "trace/trace_file.h"

#include <algorithm>
#include <cerrno>

#include "trace/compression.h"

namespace snug::trace {

TraceFile::TraceFile(std::FILE* file, const TraceFileOptions& options) : file_(file), options_(options) {
  FileHeader header;
  header.process = options.process;
  header.started = options.started;
  header.checksum = checksum_of(header);
  write(&header, sizeof header);
}

void TraceFile::add_facts(std::string_view facts) {
  ChunkHeader header;
  header.kind = ChunkKind::kFacts;
  header.serial = facts_++;
  facts = facts.substr(0, kMostFacts);
  write_chunk(header, {reinterpret_cast<const std::uint8_t*>(facts.data()), facts.size()});
}

void TraceFile::add(const Event& event) {
  Thread& thread = thread_of_event(event);
  const std::uint64_t turn = std::max(event.turn, thread.at.turn);
  const Stamp stamp = {std::max(event.time, thread.at.time), turn, event.takes_turn && turn != thread.at.turn};
  if (event.allocates() && number_of(event.result) != thread.at.number) {
    Event jump{.operation = Operation::kNumber};
    jump.values[0] = number_of(event.result);
    encode_into(thread, jump, {thread.at.time, thread.at.turn});
  }
  encode_into(thread, event, stamp);
  ++events_;
  if (event.operation == Operation::kThreadEnd) {
    // The thread stays known, with next to no memory: an event may yet come.
    end_chunk(thread);
    thread.bytes = {};
  }
}

TraceFile::Thread& TraceFile::thread_of_event(const Event& event) {
  Thread*& recent = recent_[event.thread % kRecent];
  if (recent != nullptr && recent->at.thread == event.thread) return *recent;
  const auto [found, is_new] = threads_.try_emplace(event.thread);
  recent = &found->second;
  if (is_new) {
    recent->at = {.thread = event.thread};
    begin_chunk(*recent, 0);
  }
  return *recent;
}

void TraceFile::begin_chunk(Thread& thread, std::uint32_t serial) {
  thread.at.foreign = 0;
  thread.header = {.kind = ChunkKind::kEvents,
                   .flags = options_.chunk_flags,
                   .thread = thread.at.thread,
                   .serial = serial,
                   .time = thread.at.time,
                   .turn = thread.at.turn,
                   .number = thread.at.number};
  thread.used = 0;
}

void TraceFile::encode_into(Thread& thread, const Event& event, const Stamp& stamp) {
  const std::size_t most = kMostEventBytes + event.texts[0].size() + event.texts[1].size();
  if (thread.bytes.size() - thread.used < most)
    thread.bytes.resize(std::min<std::size_t>(2 * thread.used, options_.chunk_bytes) + most);
  std::uint8_t* const begin = thread.bytes.data() + thread.used;
  const EncodedEvent encoded = encode(event, stamp, thread.at, options_.chunk_flags, begin);
  *begin = encoded.head;
  thread.used += static_cast<std::size_t>(encoded.end - begin);
  ++thread.header.events;
  if (thread.used >= options_.chunk_bytes) end_chunk(thread);
}

void TraceFile::end_chunk(Thread& thread) {
  if (thread.used == 0) return;
  thread.header.last_time = thread.at.time;
  thread.header.last_turn = thread.at.turn;
  plain_bytes_ += thread.used;
  write_chunk(thread.header, {thread.bytes.data(), thread.used});
  begin_chunk(thread, thread.header.serial + 1);
}

void TraceFile::write_chunk(ChunkHeader header, std::span<const std::uint8_t> payload) {
  std::span<const std::uint8_t> packed;
  if (options_.level != 0) packed = compress(payload, options_.level);
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
}

void TraceFile::save(std::uint64_t time) {
  for (auto& [number, thread] : threads_)
    if (thread.header.time <= time) end_chunk(thread);
  note(std::fflush(file_) == 0);
}

bool TraceFile::finish() {
  for (auto& [number, thread] : threads_) end_chunk(thread);
  const std::size_t bytes = index_.size() * sizeof(IndexEntry);
  if (bytes <= kMostIndex) {  // a reader does without
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(index_.data());
    ChunkHeader header;
    header.kind = ChunkKind::kIndex;
    const Trailer trailer = {.index = offset_};
    write_chunk(header, {begin, begin + bytes});
    write(&trailer, sizeof trailer);
  }
  note(std::fflush(file_) == 0);
  return error_ == 0;
}

void TraceFile::write(const void* bytes, std::size_t count) {
  if (count == 0) return;  // of a trace without chunks the index has no memory
  if (error_ == 0) note(std::fwrite(bytes, 1, count, file_) == count);
  offset_ += count;
}

void TraceFile::note(bool is_written) {
  if (!is_written && error_ == 0) error_ = errno != 0 ? errno : EIO;
}

}  // namespace snug::trace
