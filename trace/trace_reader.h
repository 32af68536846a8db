// TraceReader: the events of all threads, merged into the total order of the trace. It holds one chunk of each thread
// that is alive, and the directory:
//
//   place of the event returned last <= place of the next event of every stream
//   memory of all chunks that are held == open bytes <= most open bytes
//
// in a trace that keeps its order; another is returned as it is, and `check` reports it. Used by one thread.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "trace/chunk_directory.h"
#include "trace/damage.h"
#include "trace/event.h"
#include "trace/event_decoder.h"
#include "trace/source.h"

namespace snug::trace {

class TraceReader {
 public:
  // Enough for 8192 live threads, in files of ours. A file of ten megabytes may have 70 000, with a megabyte of zeros
  // each.
  static constexpr std::uint64_t kMostOpenBytes = std::uint64_t{2} << 30;

  // The caller owns the first three, which must outlive the reader. `most_open`: the most bytes of chunks that are held
  // at once; chunks of further threads are skipped as damaged.
  TraceReader(Source& source, const ChunkDirectory& directory, Damage& damage,
              std::uint64_t most_open = kMostOpenBytes);

  // False after the last event. Texts of the event are valid until the next call.
  bool next(Event& event);

  // How many of chunks() were begun: the reader's progress.
  std::size_t chunks_read() const { return chunks_read_; }
  std::size_t chunks() const { return order_.size(); }
  // How many threads never sealed their last chunk.
  std::size_t open_chunks() const { return open_chunks_; }

 private:
  // A thread: its chunks are order_[next] … order_[end - 1], the one before them is being read.
  struct Stream {
    std::size_t next;
    std::size_t end;
    bool is_open = false;
    bool has_event = false;
    std::vector<std::uint8_t> payload = {};
    EventDecoder decoder{{}, {}};
    std::uint64_t decoded = 0;  // events of the chunk
    Event event = {};
  };
  struct Waiting {
    Place place;
    std::size_t stream;
    friend bool operator<(const Waiting& a, const Waiting& b) { return b.place < a.place; }  // the least on top
  };

  void drop_repeated_chunks();
  void make_streams();
  // Advances to the stream's next event, through chunks that have none. False at its end.
  bool advance(Stream& stream);
  bool open_next_chunk(Stream& stream);
  void drop_payload(Stream& stream);
  void end_chunk(Stream& stream, Decoded how);
  void wait(std::size_t stream);

  Source& source_;
  const ChunkDirectory& directory_;
  Damage& damage_;
  const std::uint64_t most_open_;
  std::uint64_t open_bytes_ = 0;
  std::vector<std::uint32_t> order_;  // indices into the directory, by thread and serial
  std::vector<Stream> streams_;
  std::priority_queue<Waiting> waiting_;
  std::size_t current_ = 0;  // the stream of the event given last; streams_.size() if it has ended
  std::size_t chunks_read_ = 0;
  std::size_t open_chunks_ = 0;
};

}  // namespace snug::trace
