// TraceCheck: whether every event of a trace is readable and possible; of several processes of a recording, of all.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "input/trace_input.h"

namespace snug::tool {

class TraceCheck {
 public:
  // Reads the process that is chosen, to its end. `name`: what stands before its lines.
  void add(TraceInput& input, const std::string& name);

  bool is_well() const { return impossible_ == 0 && lost_ == 0 && faults_ == 0; }
  // The first events of each that cannot be, and what all add up to.
  std::string text() const;
  // Of one process what `snug trace info` says, too; of several, an array of that.
  nlohmann::ordered_json json() const;

 private:
  std::vector<nlohmann::ordered_json> processes_;
  std::string lines_;
  std::uint64_t events_ = 0;
  std::uint64_t impossible_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t faults_ = 0;  // of the file, in all that was read so far
};

}  // namespace snug::tool
