#include "trace/trace_file.h"

#include <algorithm>

namespace snug::trace {

TraceFile::TraceFile(std::FILE* file, const TraceFileOptions& options)
    : own_(std::make_unique<ChunkFile>(file, options.process, options.started)), chunks_(*own_), options_(options) {}

TraceFile::TraceFile(ChunkFile& chunks, const TraceFileOptions& options) : chunks_(chunks), options_(options) {}

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
    // The thread is kept, with next to no memory: another event of it may follow.
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
  header.process = options_.number;
  bytes_ += chunks_.write_chunk(header, payload, options_.level);
}

void TraceFile::save(std::uint64_t time) {
  for (auto& [number, thread] : threads_)
    if (thread.header.time <= time) end_chunk(thread);
  chunks_.flush();
}

bool TraceFile::finish() {
  for (auto& [number, thread] : threads_) end_chunk(thread);
  if (own_ != nullptr) return own_->finish(options_.level);
  chunks_.flush();
  return chunks_.error() == 0;
}

}  // namespace snug::trace
