// ImportedBlocks: turns what other formats say of blocks, by keys that are used again, into events of one thread with
// block identities. It knows no format.
//
//   live keys == keys that came - keys that went
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "trace/event.h"
#include "trace/trace_file.h"

namespace snug::tool {

// Which format a trace came of, and what that says nothing of ("; " between).
std::string facts_of_import(const std::string& format, const std::string& lacks);

class ImportedBlocks {
 public:
  explicit ImportedBlocks(trace::TraceFile& output) : output_(output) {}

  // Where the format says no time, an event is a step behind the one before; otherwise this sets it.
  void set_time(std::uint64_t time) { time_ = time; }

  // A key that is live already: its free is missing, and made up.
  void allocate(std::uint64_t key, std::uint64_t bytes);
  // A key that is not live: the block was there before, and is found first, with size 0.
  void free(std::uint64_t key);
  void reallocate(std::uint64_t old_key, std::uint64_t key, std::uint64_t bytes);
  void refuse_reallocation(std::uint64_t key, std::uint64_t bytes);
  void add_sample(trace::Measure measure, std::uint64_t value);

  std::uint64_t events() const { return events_; }
  std::uint64_t missing_frees() const { return missing_frees_; }
  std::uint64_t found() const { return found_; }

 private:
  trace::BlockId take(std::uint64_t key);
  trace::BlockId find(std::uint64_t key);
  void add(trace::Event event);
  void come(trace::Event event, std::uint64_t key);

  trace::TraceFile& output_;
  std::unordered_map<std::uint64_t, trace::BlockId> live_;
  std::uint64_t number_ = 1;
  std::uint64_t time_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t missing_frees_ = 0;
  std::uint64_t found_ = 0;
};

}  // namespace snug::tool
