#include "search.h"

#include <cstring>

namespace snug::schedule {

namespace {

char letter_of(unsigned step) { return static_cast<char>(step < kLand ? '0' + step : 'a' + (step - kLand)); }

uint8_t bit_of(unsigned step) { return static_cast<uint8_t>(1u << step); }

}  // namespace

Search::Search(std::string_view schedule) : told_(schedule), is_told_(true) {}

void Search::restart() {
  depth_ = 0;
  asleep_ = 0;
  schedule_.clear();
}

int Search::choose(const Candidates& candidates) {
  if (is_told_) return choose_as_told(candidates);
  Node asked{};
  const Footprint* footprints[2 * kMaxThreads];
  for (unsigned i = 0; i < candidates.count; ++i) {
    const Candidate& candidate = candidates.items[i];
    if (!candidate.allowed || (asleep_ & bit_of(candidate.step)) != 0) continue;
    footprints[asked.count] = &candidate.footprint;
    asked.options[asked.count++] = candidate.step;
  }
  if (asked.count == 0) return kRepeats;

  unsigned taken = 0;
  if (asked.count > 1) {
    Node* const node = node_of(asked);
    if (node == nullptr) return kRepeats;
    taken = node->taken;
  }
  const uint8_t step = asked.options[taken];
  if (candidates.count > 1) schedule_ += letter_of(step);
  if (reduction_ == Reduction::kSleepSets) {
    uint8_t tried = asleep_;
    for (unsigned i = 0; i < taken; ++i) tried |= bit_of(asked.options[i]);
    fall_asleep(candidates, *footprints[taken], tried);
  }
  return step;
}

void Search::fall_asleep(const Candidates& candidates, const Footprint& chosen, uint8_t tried) {
  asleep_ = 0;
  if (tried == 0) return;
  for (unsigned i = 0; i < candidates.count; ++i) {
    const Candidate& candidate = candidates.items[i];
    if ((tried & bit_of(candidate.step)) != 0 && candidate.footprint.is_independent_of(chosen)) {
      asleep_ |= bit_of(candidate.step);
    }
  }
}

unsigned Search::pick(unsigned count) {
  if (count == 1) return 0;
  unsigned taken = 0;
  if (!is_told_) {
    Node asked{};
    asked.count = static_cast<uint8_t>(count);
    asked.of_values = true;
    Node* const node = node_of(asked);
    if (node != nullptr) taken = node->taken;
  } else if (schedule_.size() < told_.size()) {
    taken = static_cast<unsigned>(told_[schedule_.size()] - 'A');
    if (taken >= count) confused_ = true, taken = 0;
  }
  schedule_ += static_cast<char>('A' + taken);
  return taken;
}

// The node of this depth, made if the run is the first to come here.
Search::Node* Search::node_of(const Node& asked) {
  if (depth_ == nodes_.size()) nodes_.push_back(asked);
  Node& node = nodes_[depth_++];
  if (node.count == asked.count && node.of_values == asked.of_values &&
      std::memcmp(node.options, asked.options, sizeof node.options) == 0) {
    return &node;
  }
  confused_ = true;
  return nullptr;
}

int Search::choose_as_told(const Candidates& candidates) {
  if (candidates.count == 1) return candidates.items[0].step;
  // Behind the end of what was told anything goes.
  uint8_t step = candidates.items[0].step;
  if (schedule_.size() < told_.size()) {
    unsigned i = 0;
    while (i < candidates.count && letter_of(candidates.items[i].step) != told_[schedule_.size()]) ++i;
    if (i == candidates.count) {
      confused_ = true;
      return kRepeats;
    }
    step = candidates.items[i].step;
  }
  schedule_ += letter_of(step);
  return step;
}

bool Search::advance() {
  if (is_told_) return false;
  while (!nodes_.empty() && nodes_.back().taken + 1 == nodes_.back().count) nodes_.pop_back();
  if (nodes_.empty()) return false;
  ++nodes_.back().taken;
  return true;
}

}  // namespace snug::schedule
