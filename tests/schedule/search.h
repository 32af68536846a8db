// Search: the tree of all decisions, walked depth first by repeating runs: each run asks choose() and pick() the same
// questions until it comes to the newest decision, where it is sent another way.
//
// Sleep sets, if asked for: once a step has been tried in a state, what is tried there after it need not do that step
// before one that depends on it has come, since the same steps in an order that only exchanges independent neighbours
// have been seen. Each class of equivalent runs is finished exactly once so; a run that could only repeat one
// is given up (`kRepeats`). A bound on preemptions counts the members of a class differently, so with one there are no
// sleep sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operation.h"

namespace snug::schedule {

// A step that can come next: thread t goes on, or (kLand + t) the oldest pending store of t lands.
inline constexpr uint8_t kLand = kMaxThreads;
struct Candidate {
  uint8_t step;
  bool allowed;  // else it could come, but not in the runs that are looked for
  Footprint footprint;
};
struct Candidates {
  Candidate items[2 * kMaxThreads];
  unsigned count = 0;

  Candidate& add(unsigned step, const Footprint& footprint) {
    return items[count++] = {static_cast<uint8_t>(step), true, footprint};
  }
};

class Search {
 public:
  static constexpr int kRepeats = -1;

  enum class Reduction : uint8_t { kNone, kSleepSets };
  explicit Search(Reduction reduction) : reduction_(reduction) {}
  // One run alone: the one that `schedule` describes, whatever is allowed.
  explicit Search(std::string_view schedule);

  // A run begins.
  void restart();
  // The next step, or kRepeats if none of the candidates, of which there is one, need be tried.
  int choose(const Candidates& candidates);
  // A number below `count`.
  unsigned pick(unsigned count);
  // After a run: false once all have been seen.
  bool advance();

  // The run so far, one character for each decision among several steps: 0-3 the thread that goes on, a-d the thread
  // with the store that lands, A-Z the choice among values. Bound and reduction do not count.
  const std::string& schedule() const { return schedule_; }
  // The test asks other questions than in the run before, or at the run's end fewer: its course hangs on more than the
  // schedule.
  bool is_confused() const { return confused_; }
  bool has_asked_too_little() const { return depth_ < nodes_.size(); }

 private:
  struct Node {
    uint8_t options[2 * kMaxThreads];  // steps
    uint8_t count;                     // of options, or of values
    uint8_t taken;                     // the one that this run takes, and those before it are done
    bool of_values;
  };

  int choose_as_told(const Candidates& candidates);
  Node* node_of(const Node& asked);
  void fall_asleep(const Candidates& candidates, const Footprint& chosen, uint8_t tried);

  Reduction reduction_ = Reduction::kNone;
  std::vector<Node> nodes_;
  size_t depth_ = 0;
  uint8_t asleep_ = 0;  // bit for a step: it need not come now
  std::string schedule_;
  std::string told_;
  bool is_told_ = false;
  bool confused_ = false;
};

}  // namespace snug::schedule
