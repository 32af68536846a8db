// ProcessIndex: the processes of a recording, by the order in which they came: what each was, what it did, and which
// one is meant. A process that executes another program is another one from there on, with the same id of the system's.
//
// What a process added up to the recorder has written behind its last event; of one that it was killed before, the
// events are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/chunk_directory.h"
#include "trace/source.h"

namespace snug::tool {

// What a process was called with, or its program's file where that is not known, as a line of a terminal shows it.
std::string command_text(const std::string& program, const std::string& arguments);

// What an allocation counts where processes are compared: a buffer that is asked for at once, and hardly used (sort's,
// say), is not to outweigh a program.
inline constexpr std::uint64_t kMostWeighed = std::uint64_t{64} << 10;
constexpr std::uint64_t weighed_size(std::uint64_t size) { return size < kMostWeighed ? size : kMostWeighed; }

struct TracedProcess {
  std::uint32_t number = 1;  // in the recording
  std::uint32_t process = 0;
  std::uint64_t started = 0;  // its time 0, nanoseconds since 1970
  std::string facts = {};     // but those that stand in the other fields
  std::uint64_t events = 0;
  std::uint64_t file_bytes = 0;  // of its chunks
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;  // as weighed_size() has it
  std::uint64_t peak_bytes = 0;

  // The value of the first fact of that key.
  std::optional<std::string> fact(std::string_view key) const;
  std::string command() const { return command_text(fact("program").value_or(""), fact("arguments").value_or("")); }
};

class ProcessIndex {
 public:
  using Directories = std::map<std::uint32_t, trace::ChunkDirectory>;  // by the number of the process

  // There is one at least. Of a file with one process, what that did is left out: nobody has to choose.
  ProcessIndex(trace::Source& source, const Directories& directories);

  const std::vector<TracedProcess>& processes() const { return processes_; }
  // The process that allocates most, by bytes; the earlier one of two that allocate as much.
  const TracedProcess& most() const;
  // By its number, or by a name: its program's file, or what it was called by, with or without the folder. Of several
  // of that name the one that allocates most. Null if there is none.
  const TracedProcess* find(const std::string& choice) const;

 private:
  std::vector<TracedProcess> processes_;
};

}  // namespace snug::tool
