// RecordedFile: what a recorder's mapping holds, in memory of the test: a file header, then chunks as writers take
// them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "trace/event_decoder.h"
#include "trace/layout.h"
#include "trace/thread_writer.h"

namespace snug::trace {

class RecordedFile {
 public:
  explicit RecordedFile(std::size_t bytes = kLeastChunk, std::uint16_t flags = 0) : bytes_(bytes) {
    supply.take = [](void* self) { return static_cast<RecordedFile*>(self)->take(); };
    supply.context = this;
    supply.turns = &turns;
    supply.chunk_flags = flags;
  }

  // Of a sealed chunk its payload; of an open one all up to its span.
  std::vector<Event> events_of(std::size_t chunk) const {
    const ChunkHeader header = header_of(chunk);
    const auto* const payload = reinterpret_cast<const std::uint8_t*>(chunks[chunk].get()) + sizeof header;
    const bool is_sealed = header.state == ChunkState::kSealed;
    EventDecoder decoder(header, {payload, is_sealed ? header.stored_bytes : header.span - sizeof header});
    std::vector<Event> events;
    Event event;
    Decoded decoded = Decoded::kEvent;
    while ((decoded = decoder.next(event)) == Decoded::kEvent) events.push_back(event);
    EXPECT_EQ(decoded, Decoded::kEnd);
    return events;
  }
  std::vector<Event> events() const {
    std::vector<Event> all;
    for (std::size_t i = 0; i < chunks.size(); ++i)
      for (const Event& event : events_of(i)) all.push_back(event);
    return all;
  }
  ChunkHeader header_of(std::size_t chunk) const { return part_at<ChunkHeader>(chunks[chunk].get()); }

  // The file as it would be found now.
  std::vector<std::uint8_t> image() const {
    FileHeader header;
    header.checksum = checksum_of(header);
    std::vector<std::uint8_t> bytes;
    const auto add = [&bytes](const void* part, std::size_t count) {
      const auto* const begin = static_cast<const std::uint8_t*>(part);
      bytes.insert(bytes.end(), begin, begin + count);
    };
    add(&header, sizeof header);
    for (const auto& chunk : chunks) add(chunk.get(), bytes_);
    return bytes;
  }

  Supply supply;
  std::atomic<std::uint64_t> turns = 0;
  std::size_t most_chunks = SIZE_MAX;
  std::vector<std::unique_ptr<std::uint64_t[]>> chunks;

 private:
  ChunkMemory take() {
    const std::lock_guard lock(mutex_);
    if (chunks.size() >= most_chunks) return {};
    chunks.push_back(std::make_unique<std::uint64_t[]>(bytes_ / 8));
    return {chunks.back().get(), bytes_};
  }
  std::size_t bytes_;
  std::mutex mutex_;
};

inline Event malloc_of(std::uint64_t size, std::uint64_t time) {
  return {.operation = Operation::kMalloc, .time = time, .size = size};
}
inline Event free_of(BlockId block, std::uint64_t time) {
  return {.operation = Operation::kFree, .time = time, .block = block};
}

}  // namespace snug::trace
