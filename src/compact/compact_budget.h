// CompactBudget: how much of compaction may be done in one go. It is asked before each part of a move.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

class CompactBudget {
 public:
  constexpr CompactBudget() = default;  // no limit
  // 0: no limit.
  CompactBudget(uint64_t nanoseconds, uint64_t bytes);

  bool is_used_up() const;
  void spend(size_t bytes) { bytes_ = bytes < bytes_ ? bytes_ - bytes : 0; }

 private:
  uint64_t until_ = 0;  // of the clock that never goes back, in nanoseconds; 0: no limit
  uint64_t bytes_ = ~uint64_t{0};
};

}  // namespace snug
