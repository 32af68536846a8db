// HeapMemory: what a process has in memory for the blocks that it allocates: what is of no file, and is neither data of
// a program or library that is loaded, nor the first thread's stack, nor in a mapping that the program has made itself.
// What an allocator keeps and other threads' stacks are in it.
//
//   heap + data of loaded files + first stack + the program's own mappings == RssAnon of /proc/PID/status
//
// Used by one thread. What another process changes meanwhile is seen as before or as after.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "process/address_ranges.h"

namespace snug::tool {

// Bytes; shared memory is in neither.
struct ResidentMemory {
  std::uint64_t all = 0;
  std::uint64_t anonymous = 0;  // of no file
};

// One short file of /proc is read: some 20 us. Nothing if the process has no memory any more.
std::optional<ResidentMemory> resident_memory_of(pid_t process);

class HeapMemory {
 public:
  explicit HeapMemory(pid_t process) : process_(process) {}

  // Mappings that the program has made itself.
  AddressRanges& mapped() { return mapped_; }
  const AddressRanges& mapped() const { return mapped_; }

  // Of so many anonymous bytes, those of the heap. Looks at each mapping, and at each OS page of those that are not the
  // heap's: from 0.1 ms to some ms. Nothing if the process does not let us see them, or ends meanwhile.
  // `has_forked`: pages may be another process's as well.
  std::optional<std::uint64_t> bytes_among(std::uint64_t anonymous, bool has_forked);

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  struct LoadedFile {
    std::string path;
    std::vector<Range> data;
  };
  const std::vector<Range>& data_of(const std::string& path, std::uint64_t start);

  const pid_t process_;
  AddressRanges mapped_;
  std::map<std::uint64_t, LoadedFile> files_;  // by where they begin; also those that have no data
};

}  // namespace snug::tool
