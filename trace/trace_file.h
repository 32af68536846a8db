// TraceFile: writes the trace of one process, from events in any order that keeps each thread's. Importers, cuts and
// filters use it to write a file of its own that ends with an index; `snug record` writes into the file that all
// processes of a recording share. It compresses.
//
// It holds a chunk of each thread that has not ended. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trace/chunk_file.h"
#include "trace/event.h"
#include "trace/event_encoder.h"
#include "trace/layout.h"

namespace snug::trace {

struct TraceFileOptions {
  std::uint32_t process = 0;
  std::uint64_t started = 0;  // nanoseconds since 1970
  std::uint32_t number = 1;   // of the process among those that share the file
  std::uint16_t chunk_flags = 0;
  int level = 3;                          // of zstd; 0 leaves chunks as they are
  std::uint32_t chunk_bytes = 256 << 10;  // of events, decompressed; half of kMostPayload at most
};

class TraceFile {
 public:
  // The caller owns the file, open for writing, at its beginning.
  TraceFile(std::FILE* file, const TraceFileOptions& options);
  // Writes a part of a shared file, which its owner finishes. `process` and `started` are in the file's header.
  TraceFile(ChunkFile& chunks, const TraceFileOptions& options);

  // Lines of a key, a tab and a value; at most kMostFacts bytes.
  void add_facts(std::string_view facts);
  // Writes an event with all its fields: thread, time, turn, and for an allocation its result, a block of the event's
  // thread. In a thread neither time nor turn may fall: lower ones are raised.
  void add(const Event& event);
  // Ends the chunks that began at this time or earlier, and passes all ended chunks to the file: they can be read even
  // if the writer is killed.
  void save(std::uint64_t time);
  // Ends open chunks, and the file if it is its own. False if any write has failed.
  bool finish();
  // The errno of the first write that failed; 0 if none has.
  int error() const { return chunks_.error(); }

  // The bytes of a file of its own; in a shared one, those of this process.
  std::uint64_t bytes() const { return own_ != nullptr ? own_->bytes() : bytes_; }
  std::uint64_t plain_bytes() const { return plain_bytes_; }  // of events
  std::uint64_t events() const { return events_; }

 private:
  struct Thread {
    ChunkHeader header;
    Standing at;
    std::vector<std::uint8_t> bytes;  // room for the chunk's events, of which so much is used
    std::size_t used = 0;
  };
  static constexpr std::size_t kRecent = 64;

  Thread& thread_of_event(const Event& event);
  void encode_into(Thread& thread, const Event& event, const Stamp& stamp);
  void begin_chunk(Thread& thread, std::uint32_t serial);
  void end_chunk(Thread& thread);
  void write_chunk(ChunkHeader header, std::span<const std::uint8_t> payload);

  std::unique_ptr<ChunkFile> own_;  // null: the file is shared
  ChunkFile& chunks_;
  TraceFileOptions options_;
  std::map<std::uint32_t, Thread> threads_;
  std::array<Thread*, kRecent> recent_ = {};  // of threads with numbers that share a place, the latest one
  std::uint32_t facts_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t plain_bytes_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace snug::trace
