// CompactBudget: how much compaction may be done in one call. It is asked before each part of a move. Its time is used
// up if a part as long as the longest so far would go beyond it: so only a part longer than all before oversteps it.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

class CompactBudget {
 public:
  constexpr CompactBudget() = default;  // no limit
  // 0: no limit.
  CompactBudget(uint64_t nanoseconds, uint64_t bytes);
  // The same, begun at that time.
  CompactBudget(uint64_t nanoseconds, uint64_t bytes, uint64_t now);

  bool is_limited() const { return until_ != 0 || bytes_ != kNoLimit; }
  bool is_used_up();
  bool is_used_up_at(uint64_t now);
  // True if the time, not the bytes, was found to be used up.
  bool is_out_of_time() const { return is_out_of_time_; }
  void spend(size_t bytes) { bytes_ = bytes < bytes_ ? bytes_ - bytes : 0; }

 private:
  static constexpr uint64_t kNoLimit = ~uint64_t{0};

  uint64_t until_ = 0;  // os::nanoseconds(); 0: no limit
  uint64_t asked_ = 0;  // os::nanoseconds() when it was asked last
  uint64_t longest_ = 0;
  uint64_t bytes_ = kNoLimit;
  bool is_out_of_time_ = false;
};

}  // namespace snug
