// A trace written to memory, and read from it as a user's tool does.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "trace/chunk_directory.h"
#include "trace/trace_file.h"
#include "trace/trace_reader.h"

namespace snug::trace {

using Bytes = std::vector<std::uint8_t>;

inline Bytes write_trace(const std::vector<Event>& events, const TraceFileOptions& options) {
  char* memory = nullptr;
  std::size_t count = 0;
  std::FILE* const file = ::open_memstream(&memory, &count);
  TraceFile trace(file, options);
  trace.add_facts("program\tmade up\n");
  for (const Event& event : events) trace.add(event);
  EXPECT_TRUE(trace.finish());
  std::fclose(file);
  EXPECT_EQ(trace.bytes(), count);
  Bytes bytes(memory, memory + count);
  std::free(memory);
  return bytes;
}

// An event with texts of its own.
struct KeptEvent {
  Event event;
  std::string texts[2];

  explicit KeptEvent(const Event& from) : event(from) {
    for (std::size_t i = 0; i < event.texts.size(); ++i) texts[i] = event.texts[i];
    event.texts = {};
  }
  friend bool operator==(const KeptEvent& a, const KeptEvent& b) {
    const auto key = [](const KeptEvent& kept) {
      const Event& e = kept.event;
      return std::tie(e.operation, e.is_refused, e.takes_turn, e.thread, e.time, e.turn, e.block, e.result, e.size,
                      e.alignment, e.stack, e.values, kept.texts[0], kept.texts[1]);
    };
    return key(a) == key(b);
  }
};

struct ReadTrace {
  std::string refusal;
  std::string facts;
  std::vector<KeptEvent> events;
  std::vector<std::string> faults;
  std::uint64_t damaged_chunks = 0;
  std::uint64_t missing_chunks = 0;
  std::size_t open_chunks = 0;
  bool has_index = false;
};

inline ReadTrace read_trace(const Bytes& bytes, std::uint64_t most_open = TraceReader::kMostOpenBytes) {
  ReadTrace read;
  MemorySource source(bytes);
  Damage damage([&read](std::uint64_t offset, const std::string& what) {
    read.faults.push_back(std::to_string(offset) + ": " + what);
  });
  const auto directory = ChunkDirectory::read(source, damage, read.refusal);
  if (!directory) return read;
  read.has_index = directory->has_index();
  read.facts = read_facts(source, *directory, damage);
  TraceReader reader(source, *directory, damage, most_open);
  Event event;
  while (reader.next(event)) read.events.emplace_back(event);
  read.damaged_chunks = damage.damaged_chunks();
  read.missing_chunks = damage.missing_chunks();
  read.open_chunks = reader.open_chunks();
  return read;
}

}  // namespace snug::trace
