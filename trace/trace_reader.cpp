#include "trace/trace_reader.h"

#include <algorithm>
#include <tuple>

namespace snug::trace {

namespace {

bool may_hold_events(const ChunkHeader& header) {
  return header.thread != 0 && header.thread <= kMostThread && header.number != 0 && header.number <= kMostNumber &&
         header.time <= kMostTime && header.turn <= kMostTurn && header.flags <= kWithStacks;
}

std::string name_of(const ChunkHeader& header) {
  return "chunk " + std::to_string(header.serial) + " of thread " + std::to_string(header.thread);
}

}  // namespace

TraceReader::TraceReader(Source& source, const ChunkDirectory& directory, Damage& damage, std::uint64_t most_open)
    : source_(source), directory_(directory), damage_(damage), most_open_(most_open) {
  const std::vector<IndexEntry>& chunks = directory_.chunks();
  for (std::uint32_t i = 0; i < chunks.size(); ++i) {
    const ChunkHeader& header = chunks[i].header;
    if (header.kind == ChunkKind::kFacts) continue;
    if (header.kind == ChunkKind::kEvents && may_hold_events(header)) {
      order_.push_back(i);
    } else {
      damage_.tell_chunk(chunks[i].offset, "the chunk says what cannot be, or is of a kind that there is not");
    }
  }
  std::sort(order_.begin(), order_.end(), [&chunks](std::uint32_t a, std::uint32_t b) {
    const auto key = [&chunks](std::uint32_t i) {
      return std::tuple(chunks[i].header.thread, chunks[i].header.serial, i);
    };
    return key(a) < key(b);
  });
  drop_repeated_chunks();
  make_streams();
  current_ = streams_.size();
}

void TraceReader::drop_repeated_chunks() {
  const std::vector<IndexEntry>& chunks = directory_.chunks();
  const auto is_repeated = [&](std::uint32_t a, std::uint32_t b) {
    return chunks[a].header.thread == chunks[b].header.thread && chunks[a].header.serial == chunks[b].header.serial;
  };
  std::size_t kept = 0;
  for (const std::uint32_t one : order_) {
    if (kept != 0 && is_repeated(order_[kept - 1], one)) {
      damage_.tell_chunk(chunks[one].offset, name_of(chunks[one].header) + " is there twice");
    } else {
      order_[kept++] = one;
    }
  }
  order_.resize(kept);
}

void TraceReader::make_streams() {
  const std::vector<IndexEntry>& chunks = directory_.chunks();
  for (std::size_t begin = 0; begin < order_.size();) {
    const std::uint32_t thread = chunks[order_[begin]].header.thread;
    std::size_t end = begin;
    std::uint32_t expected = 0;
    for (; end < order_.size() && chunks[order_[end]].header.thread == thread; ++end) {
      const IndexEntry& chunk = chunks[order_[end]];
      const std::uint32_t missing = chunk.header.serial - expected;
      if (missing != 0) {
        damage_.tell(chunk.offset, std::to_string(missing) + " chunk(s) are missing before " + name_of(chunk.header));
        damage_.add_missing_chunks(missing);
      }
      expected = chunk.header.serial + 1;
    }
    streams_.push_back({.next = begin, .end = end});
    wait(streams_.size() - 1);
    begin = end;
  }
}

// A chunk that is not yet open waits with its header's time and turn; its first event is no earlier.
void TraceReader::wait(std::size_t index) {
  const Stream& stream = streams_[index];
  if (stream.has_event) {
    waiting_.push({place_of(stream.event), index});
  } else if (stream.next != stream.end) {
    const ChunkHeader& header = directory_.chunks()[order_[stream.next]].header;
    waiting_.push({{header.turn, false, header.time, header.thread}, index});
  }
}

bool TraceReader::next(Event& event) {
  // As a rule the next event is of the same thread.
  if (current_ != streams_.size()) {
    Stream& stream = streams_[current_];
    if (advance(stream)) {
      if (waiting_.empty() || place_of(stream.event) <= waiting_.top().place) {
        event = stream.event;
        return true;
      }
    }
    wait(current_);
  }
  while (!waiting_.empty()) {
    current_ = waiting_.top().stream;
    waiting_.pop();
    Stream& stream = streams_[current_];
    if (stream.has_event) {
      event = stream.event;
      return true;
    }
    advance(stream);
    wait(current_);
  }
  current_ = streams_.size();
  return false;
}

bool TraceReader::advance(Stream& stream) {
  for (;;) {
    if (!stream.is_open && !open_next_chunk(stream)) return stream.has_event = false;
    const Decoded how = stream.decoder.next(stream.event);
    if (how != Decoded::kEvent) {
      end_chunk(stream, how);
      continue;
    }
    ++stream.decoded;
    if (stream.event.operation == Operation::kNumber) continue;
    return stream.has_event = true;
  }
}

bool TraceReader::open_next_chunk(Stream& stream) {
  std::string fault;
  while (stream.next != stream.end) {
    const IndexEntry& chunk = directory_.chunks()[order_[stream.next++]];
    ++chunks_read_;
    open_bytes_ -= stream.payload.capacity();
    bool is_loaded = load_payload(source_, chunk, stream.payload, fault);
    open_bytes_ += stream.payload.capacity();
    if (open_bytes_ > most_open_) {
      drop_payload(stream);
      fault = "too many threads have a chunk at once: more than " + std::to_string(most_open_ >> 20) + " MiB of events";
      is_loaded = false;
    }
    if (!is_loaded) {
      damage_.tell_chunk(chunk.offset, name_of(chunk.header) + ": " + fault);
      continue;
    }
    stream.is_open = true;
    stream.decoder = EventDecoder(chunk.header, stream.payload);
    stream.decoded = 0;
    return true;
  }
  drop_payload(stream);  // the thread has ended, others may be many
  return false;
}

void TraceReader::drop_payload(Stream& stream) {
  open_bytes_ -= stream.payload.capacity();
  stream.payload = {};
}

void TraceReader::end_chunk(Stream& stream, Decoded how) {
  stream.is_open = false;
  const IndexEntry& chunk = directory_.chunks()[order_[stream.next - 1]];
  const bool is_sealed = chunk.header.state == ChunkState::kSealed;
  if (!is_sealed) ++open_chunks_;
  const bool is_short = is_sealed && stream.decoded != chunk.header.events;
  if (how != Decoded::kDamaged && !is_short) return;
  damage_.tell_chunk(chunk.offset, name_of(chunk.header) + ": " +
                                       (how == Decoded::kDamaged ? "no event is" : "the events end") + " at byte " +
                                       std::to_string(stream.decoder.offset()) + " of its payload, behind " +
                                       std::to_string(stream.decoded) + " events");
}

}  // namespace snug::trace
