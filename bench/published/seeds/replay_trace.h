// ReplayTrace: an allocation trace as a replay wants it: steps of eight bytes, and no key in them. A step allocates a
// block into a slot, or frees the block of a slot; a reallocation is two steps, free, then malloc, as the driver of
// Compact-fit made of it in 2009. Slots are numbers from 0, reused when their block is gone, so that
//
//   slots() == most blocks that lived at one time
//
// The text is read by tools/input/allocation_trace.h, so that `snug classes fit` and the replay agree on what a trace
// is, and in a child process: what reading allocates must not lie about in the heap that is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace seeds {

struct TraceStep {
  static constexpr uint32_t kFrees = UINT32_MAX;
  uint32_t slot;
  uint32_t bytes;  // kFrees: it frees
  bool frees() const { return bytes == kFrees; }
};

class ReplayTrace {
 public:
  // Ends the program in one line, with the number of the text's line, if the trace is none. A name that ends in .gz is
  // unpacked by gzip; "-" is standard input.
  explicit ReplayTrace(const std::string& path);
  ~ReplayTrace();
  ReplayTrace(const ReplayTrace&) = delete;
  ReplayTrace& operator=(const ReplayTrace&) = delete;

  const std::string& name() const { return name_; }  // of the file, without folder and endings
  const TraceStep* begin() const { return steps_; }
  size_t size() const { return size_; }
  size_t slots() const { return slots_; }

  // Brings the steps into this process' page tables, so that a replay meets no faults but its heap's.
  void touch() const;

 private:
  std::string name_;
  TraceStep* steps_ = nullptr;
  size_t size_ = 0;
  size_t slots_ = 0;
};

}  // namespace seeds
