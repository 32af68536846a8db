// SampleAccount: sums up the samples of a trace, in its order. Used by one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "trace/event.h"

namespace snug::trace {

// Values of the fields of mallinfo2 (kMallinfoNames); empty for a field without a sample.
using MallinfoFields = std::array<std::optional<std::uint64_t>, kMallinfoFields>;

// What the allocator counts as in use, blocks that have mappings of their own included.
inline std::optional<std::uint64_t> used_bytes(const MallinfoFields& fields) {
  constexpr std::size_t kHblkhd = mallinfo_field(static_cast<std::uint64_t>(Measure::kMappedBytes));
  constexpr std::size_t kUordblks = mallinfo_field(static_cast<std::uint64_t>(Measure::kUsedBytes));
  if (!fields[kUordblks]) return std::nullopt;
  return *fields[kUordblks] + fields[kHblkhd].value_or(0);
}

inline std::optional<std::uint64_t> free_bytes(const MallinfoFields& fields) {
  return fields[mallinfo_field(static_cast<std::uint64_t>(Measure::kFreeBytes))];
}

class SampleAccount {
 public:
  void add(const Event& event) {
    if (event.operation != Operation::kSample) return;
    const std::uint64_t measure = event.values[0];
    const std::uint64_t value = event.values[1];
    if (measure == static_cast<std::uint64_t>(Measure::kMostResident)) most_resident_ = std::max(most_resident_, value);
    if (measure == static_cast<std::uint64_t>(Measure::kResident)) {
      ++resident_;
      most_resident_ = std::max(most_resident_, value);
    } else if (is_of_mallinfo(measure)) {
      last_[mallinfo_field(measure)] = value;
      if (measure == static_cast<std::uint64_t>(Measure::kReleasableBytes)) end_mallinfo();
    }
  }

  std::uint64_t resident() const { return resident_; }  // how many there are
  std::uint64_t most_resident() const { return most_resident_; }
  std::uint64_t mallinfo() const { return mallinfo_; }  // how many, of all fields
  std::uint64_t most_used() const { return most_used_; }
  std::uint64_t most_free() const { return most_free_; }
  const MallinfoFields& last() const { return last_; }

 private:
  void end_mallinfo() {
    ++mallinfo_;
    most_used_ = std::max(most_used_, used_bytes(last_).value_or(0));
    most_free_ = std::max(most_free_, free_bytes(last_).value_or(0));
  }

  std::uint64_t resident_ = 0;
  std::uint64_t most_resident_ = 0;
  std::uint64_t mallinfo_ = 0;
  std::uint64_t most_used_ = 0;
  std::uint64_t most_free_ = 0;
  MallinfoFields last_ = {};
};

}  // namespace snug::trace
